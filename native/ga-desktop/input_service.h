/* What the second thread does: serves the connections that are for input. */
#ifndef GD_INPUT_SERVICE_H
#define GD_INPUT_SERVICE_H

#include "input.h"
#include "loop.h"

struct input_service {
    struct loop loop;
    struct input input;
    atomic_uint_fast64_t acknowledged; /* number of the last batch */
    uint64_t give_back_ns;             /* when lent keys go back if nothing is typed; 0: none are lent */
};

/* The input is open already. */
bool input_service_open(struct input_service *service);

#endif
