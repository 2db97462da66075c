/* The virtual keyboard: made by uinput, so that programs cannot tell it from one of wood and springs. */
#ifndef GI_DEVICE_H
#define GI_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define DEVICE_NAME "GymAnything Fast Keyboard"
#define NODE_MAX 64

struct device {
    int fd;              /* -1: there is none, and the reason says why */
    char node[NODE_MAX]; /* as /dev/input/event5 */
    char reason[160];
    bool caps_lock; /* its light, which whoever reads the keyboard switches */
};

bool device_open(struct device *device);
void device_close(struct device *device);
/* One key and the end of the report; false with the reason when the kernel refuses. */
bool device_key(struct device *device, uint16_t key, bool down);
/* Down and up at once: on a machine that stands still in between, a key that is down repeats itself. */
bool device_tap(struct device *device, uint16_t key);
/* Takes in what its lights have become. */
void device_read_lights(struct device *device);

#endif
