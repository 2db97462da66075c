/* Brings what was drawn into a slot, so that the slot shows one moment of the screen. */
#ifndef GD_PICTURE_H
#define GD_PICTURE_H

#include "capture.h"

/* Begins the slot, which the caller finishes. `boxes` is what differs from the newest frame; what is drawn meanwhile may
 * be added. GRAB_REFUSED: the screen's size has changed. */
enum grab_result picture_take(struct capture *capture, int slot, struct box_list *boxes);
/* The same without a slot: the X server's own pixels stay in the grab's memory, where *part says. */
enum grab_result picture_take_raw(struct capture *capture, struct grab *grab, struct box_list *boxes,
                                  const struct grab_part **part);

#endif
