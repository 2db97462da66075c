/* Boxes of pixels, and short lists of them that cover what changed. */
#ifndef GD_BOX_H
#define GD_BOX_H

#include <stdbool.h>
#include <stddef.h>

#define BOX_LIST_MAX 16

struct box {
    int x, y, width, height;
};

/* At most BOX_LIST_MAX boxes; when there are more, the two that fit best become one. */
struct box_list {
    int count;
    struct box items[BOX_LIST_MAX];
};

bool box_is_empty(struct box box);
bool box_contains(struct box outer, struct box inner);
struct box box_intersection(struct box a, struct box b);
struct box box_union(struct box a, struct box b);
size_t box_area(struct box box);

void box_list_add(struct box_list *list, struct box box);
void box_list_add_all(struct box_list *list, const struct box_list *other);
size_t box_list_area(const struct box_list *list);
/* Whether one of its boxes contains this one. */
bool box_list_covers(const struct box_list *list, struct box box);
/* One box around all. */
void box_list_collapse(struct box_list *list);

/* Where in a list the next portion begins. */
struct box_list_cut {
    const struct box_list *list;
    int index, row;
};
/* Cuts off the next boxes, of at most so many pixels together or one row; false when nothing is left. */
bool box_list_cut(struct box_list_cut *cut, size_t pixels, struct box_list *portion);

#endif
