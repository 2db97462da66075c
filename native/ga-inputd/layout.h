/* Where the keys of a US keyboard are: what is typed by which, and which have names. */
#ifndef GI_LAYOUT_H
#define GI_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct stroke {
    uint16_t key; /* the kernel's KEY_ code; 0: there is none */
    bool shift;
    bool letter; /* Caps Lock turns its case round */
};

/* What types a character: ASCII, Return, Tab, BackSpace. */
struct stroke stroke_of_character(uint32_t character);
/* The key that has this keysym on any level; shift says which. */
struct stroke stroke_of_keysym(uint32_t keysym);
/* Every key that a stroke can name, for the device's description; calls with each code. */
void each_key(void (*with)(void *owner, uint16_t key), void *owner);

#endif
