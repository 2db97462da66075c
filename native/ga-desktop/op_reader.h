/* One op of an INPUT message, read with its bounds checked. */
#ifndef GD_OP_READER_H
#define GD_OP_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

struct op {
    enum gd_op code;
    union {
        struct gd_MOVE move;
        struct gd_CLICK click;
        struct gd_DRAG drag;
        struct gd_BUTTON button;
        struct gd_SCROLL scroll;
        struct gd_ELSEWHERE elsewhere;
    };
    const uint8_t *text;
    uint32_t text_size;
    uint32_t keysyms[GD_MAX_KEYS];
    int key_count;
};

struct op_reader {
    const uint8_t *at, *end;
};

/* False when what follows is no whole op. */
bool op_next(struct op_reader *reader, struct op *op);

#endif
