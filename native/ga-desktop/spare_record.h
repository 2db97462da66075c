/* The list of lent keys as a property of the root window. */
#ifndef GD_SPARE_RECORD_H
#define GD_SPARE_RECORD_H

#include "spare.h"

bool spare_record_open(xcb_atom_t *property, struct x_display *display);
/* Writes the keys that are lent now; none: the property goes. Sent, not awaited. */
void spare_record_write(const struct spare_keys *spare, struct x_display *display);
/* Replaces spare->keys by what the property says. */
void spare_record_read(struct spare_keys *spare, struct x_display *display);

#endif
