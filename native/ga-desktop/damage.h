/* What was drawn, as the X server notes it. */
#ifndef GD_DAMAGE_H
#define GD_DAMAGE_H

#include "capture.h"

/* Asks the X server for what it has noted, taken from it in one step so that nothing falls between. */
void damage_ask(struct capture *capture);
/* Waits for the answer, adds it to `boxes` and tells the owner. False when the server is gone. */
bool damage_answer(struct capture *capture, struct box_list *boxes);
/* Takes in what the X server has sent, by xcb_poll_for_event or xcb_poll_for_queued_event. */
void damage_take_in(struct capture *capture, xcb_generic_event_t *(*next)(xcb_connection_t *));

#endif
