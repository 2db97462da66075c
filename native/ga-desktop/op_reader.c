#include "op_reader.h"

#include <string.h>

static bool take(struct op_reader *reader, void *to, size_t size) {
    if ((size_t)(reader->end - reader->at) < size) return false;
    memcpy(to, reader->at, size);
    reader->at += size;
    return true;
}

static bool take_text(struct op_reader *reader, struct op *op) {
    struct gd_TEXT fields;
    if (!take(reader, &fields, sizeof fields) || (size_t)(reader->end - reader->at) < fields.bytes) return false;
    op->text = reader->at;
    op->text_size = fields.bytes;
    reader->at += fields.bytes;
    return true;
}

static bool take_keys(struct op_reader *reader, struct op *op) {
    struct gd_PRESS fields; /* the three kinds of key ops look alike */
    if (!take(reader, &fields, sizeof fields) || fields.count == 0 || fields.count > GD_MAX_KEYS) return false;
    op->key_count = fields.count;
    return take(reader, op->keysyms, fields.count * sizeof *op->keysyms);
}

bool op_next(struct op_reader *reader, struct op *op) {
    uint8_t code;
    if (!take(reader, &code, sizeof code)) return false;
    op->code = code;
    switch (op->code) {
    case GD_OP_MOVE: return take(reader, &op->move, sizeof op->move);
    case GD_OP_CLICK: return take(reader, &op->click, sizeof op->click);
    case GD_OP_DRAG: return take(reader, &op->drag, sizeof op->drag);
    case GD_OP_BUTTON: return take(reader, &op->button, sizeof op->button);
    case GD_OP_SCROLL: return take(reader, &op->scroll, sizeof op->scroll);
    case GD_OP_ELSEWHERE: return take(reader, &op->elsewhere, sizeof op->elsewhere);
    case GD_OP_TEXT: return take_text(reader, op);
    case GD_OP_PRESS:
    case GD_OP_KEYS_DOWN:
    case GD_OP_KEYS_UP: return take_keys(reader, op);
    }
    return false;
}
