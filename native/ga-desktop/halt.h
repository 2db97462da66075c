/* Applications that do what they are told later than they read it, so that keys would overtake each other in them.
 *
 * LibreOffice is one. A command (Return, Backspace, a chord) is done in a turn of its own, after characters that it has
 * read meanwhile. A character is kept back for a moment while more keys wait to be read, the release of its own key
 * among them; but one beyond U+FFFF, which comes another way, is not. Its own users never notice: it rests between
 * their keys. So must ours, where the order depends on it.
 */
#ifndef GD_HALT_H
#define GD_HALT_H

#include "input.h"

enum halt {
    HALT_NEVER,
    HALT_DOWN, /* while the key is down: nothing waits to be read then */
    HALT_UP,   /* once the key is up again */
};

/* Presses a key once more. LibreOffice without GTK drops a press at the same millisecond as the release: held down. */
void halt_and_press(struct input *input, uint8_t keycode);
/* How an application that defers must be given a character's key, with more text behind it. */
enum halt halt_at(uint32_t character, const uint8_t *next, const uint8_t *end);
/* Waits accordingly, with the key down, and lets go of it; `target` is who has the focus then. */
enum input_result halt_on_key(struct input *input, uint8_t keycode, enum halt halt, struct drain_target *target);
/* Who has the focus; it has done what it was sent before, and is ready for this text (or NULL: other keys). */
enum input_result halt_before(struct input *input, const uint8_t *text, const uint8_t *end,
                              struct drain_target *target);
/* What comes next must wait until this one has done what it was sent. */
void halt_later(struct input *input, const struct drain_target *target);

#endif
