/* Who a virtual machine is among the copies of one that was saved: its id, the address of its network card. */
#ifndef GA_IDENTITY_H
#define GA_IDENTITY_H

#include "protocol.h"

/* Writes 32 hexadecimal digits and a newline to the file; 0, or an errno. */
int identity_set_machine_id(const char *path, struct ga_slice id);

/* Gives the network interface its hardware address (6 bytes); 0, or an errno. */
int identity_set_address(struct ga_slice interface, struct ga_slice address);

#endif
