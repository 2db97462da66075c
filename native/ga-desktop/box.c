#include "box.h"

#include <stdint.h>

static int smaller(int a, int b) {
    return a < b ? a : b;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

bool box_is_empty(struct box box) {
    return box.width <= 0 || box.height <= 0;
}

bool box_contains(struct box outer, struct box inner) {
    return inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width &&
           inner.y + inner.height <= outer.y + outer.height;
}

struct box box_intersection(struct box a, struct box b) {
    int x = larger(a.x, b.x), y = larger(a.y, b.y);
    int width = smaller(a.x + a.width, b.x + b.width) - x;
    int height = smaller(a.y + a.height, b.y + b.height) - y;
    if (width <= 0 || height <= 0) return (struct box){0, 0, 0, 0};
    return (struct box){x, y, width, height};
}

struct box box_union(struct box a, struct box b) {
    if (box_is_empty(a)) return b;
    if (box_is_empty(b)) return a;
    int x = smaller(a.x, b.x), y = smaller(a.y, b.y);
    return (struct box){x, y, larger(a.x + a.width, b.x + b.width) - x, larger(a.y + a.height, b.y + b.height) - y};
}

size_t box_area(struct box box) {
    return box_is_empty(box) ? 0 : (size_t)box.width * (size_t)box.height;
}

/* Pixels of the union that belong to neither. */
static int64_t waste(struct box a, struct box b) {
    return (int64_t)box_area(box_union(a, b)) - (int64_t)box_area(a) - (int64_t)box_area(b) +
           (int64_t)box_area(box_intersection(a, b));
}

static void remove_at(struct box_list *list, int index) {
    list->items[index] = list->items[--list->count];
}

void box_list_add(struct box_list *list, struct box box) {
    if (box_is_empty(box)) return;
    int best = -1;
    int64_t best_waste = INT64_MAX;
    for (int i = 0; i < list->count; i++) {
        if (box_contains(list->items[i], box)) return;
        int64_t wasted = waste(list->items[i], box);
        if (wasted < best_waste) best = i, best_waste = wasted;
    }
    bool close = best >= 0 && best_waste * 4 <= (int64_t)box_area(box_union(list->items[best], box));
    if (!close && list->count < BOX_LIST_MAX) {
        list->items[list->count++] = box;
        return;
    }
    struct box merged = box_union(list->items[best], box);
    remove_at(list, best);
    box_list_add(list, merged); /* it may now cover others; the list is shorter, so this ends */
}

void box_list_add_all(struct box_list *list, const struct box_list *other) {
    for (int i = 0; i < other->count; i++) box_list_add(list, other->items[i]);
}

size_t box_list_area(const struct box_list *list) {
    size_t area = 0;
    for (int i = 0; i < list->count; i++) area += box_area(list->items[i]);
    return area;
}

bool box_list_covers(const struct box_list *list, struct box box) {
    for (int i = 0; i < list->count; i++)
        if (box_contains(list->items[i], box)) return true;
    return false;
}

void box_list_collapse(struct box_list *list) {
    struct box all = {0, 0, 0, 0};
    for (int i = 0; i < list->count; i++) all = box_union(all, list->items[i]);
    list->count = 0;
    if (!box_is_empty(all)) list->items[list->count++] = all;
}

bool box_list_cut(struct box_list_cut *cut, size_t pixels, struct box_list *portion) {
    portion->count = 0;
    while (cut->index < cut->list->count) {
        struct box box = cut->list->items[cut->index];
        size_t fit = pixels / (size_t)box.width;
        if (fit == 0 && portion->count) break;
        int rows = smaller(box.height - cut->row, fit ? (int)fit : 1);
        portion->items[portion->count++] = (struct box){box.x, box.y + cut->row, box.width, rows};
        pixels -= fit ? (size_t)rows * (size_t)box.width : pixels;
        cut->row = cut->row + rows < box.height ? cut->row + rows : 0;
        if (cut->row == 0) cut->index++;
    }
    return portion->count > 0;
}
