#define _GNU_SOURCE
#include "reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"

#define LEASE_PAGE 4096

struct reader *reader_new(void) {
    struct reader *reader = calloc(1, sizeof *reader);
    if (reader) reader->leases_fd = -1;
    return reader;
}

void reader_release(struct reader *reader) {
    if (reader->leases) munmap((void *)reader->leases, LEASE_PAGE);
    if (reader->leases_fd >= 0) close(reader->leases_fd);
    reader->leases = NULL;
    reader->leases_fd = -1;
}

bool reader_renew_leases(struct reader *reader, uint32_t generation) {
    reader_release(reader);
    int fd = memfd_create("ga-desktop-leases", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return false;
    void *page = MAP_FAILED;
    if (ftruncate(fd, LEASE_PAGE) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
        page = mmap(NULL, LEASE_PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        close(fd);
        return false;
    }
    reader->leases = page;
    reader->leases_fd = fd;
    reader->generation = generation;
    reader->granted = 0;
    return true;
}

uint32_t reader_kept(const struct reader *reader, uint32_t generation) {
    uint32_t kept = 0;
    if (!reader->leases || reader->generation != generation) return 0;
    if (reader->granted) kept |= 1u << (reader->granted - 1);
    for (int i = 0; i < GD_LEASES; i++) {
        uint8_t lease = reader->leases[i];
        if (lease >= 1 && lease <= GD_SLOTS) kept |= 1u << (lease - 1);
    }
    return kept;
}

bool settle_begin(struct settle_wait *settle, uint64_t request, const struct message *message) {
    struct gd_SETTLE fields;
    if (!FIELDS_AND_TAIL(message, &fields)) return false;
    size_t boxes = message->size - sizeof fields;
    if (fields.flags & ~(uint32_t)GD_SETTLE_LEARN) return false;
    if (fields.box_count > GD_MAX_BOXES || boxes != fields.box_count * sizeof(struct gd_BOX)) return false;
    if (fields.quiet_ms > GD_MAX_SETTLE_MS || fields.max_ms > GD_MAX_SETTLE_MS) return false;
    uint64_t now = clock_ns();
    *settle = (struct settle_wait){
        .active = true,
        .learns = fields.flags & GD_SETTLE_LEARN,
        .request = request,
        .began_ns = now,
        .last_drawn_ns = now,
        .quiet_ns = fields.quiet_ms * MS_NS,
        .until_ns = now + fields.max_ms * MS_NS,
        .ignored_count = (int)fields.box_count,
    };
    for (uint32_t i = 0; i < fields.box_count; i++) {
        struct gd_BOX box;
        memcpy(&box, message->body + sizeof fields + i * sizeof box, sizeof box);
        settle->ignored[i] = (struct box){box.x, box.y, box.width, box.height};
    }
    return true;
}

static bool is_ignored(const struct settle_wait *settle, struct box drawn) {
    for (int i = 0; i < settle->ignored_count; i++)
        if (box_contains(settle->ignored[i], drawn)) return true;
    return false;
}

void settle_note(struct settle_wait *settle, const struct box *drawn, int count, uint64_t at) {
    for (int i = 0; i < count && settle->active && !settle->learns; i++)
        if (!is_ignored(settle, drawn[i])) settle->last_drawn_ns = at;
}

void reader_note_change(struct reader *reader, const struct blink_change *change) {
    struct settle_wait *settle = &reader->settle;
    if (!settle->active || !settle->learns || is_ignored(settle, change->box)) return;
    uint64_t counts = blinks_take(&reader->blinks, change);
    if (counts > settle->last_drawn_ns) settle->last_drawn_ns = counts;
}

void settle_note_reaction(struct settle_wait *settle, bool pending, uint64_t now) {
    if (settle->awaits && !pending && settle->last_drawn_ns < now) settle->last_drawn_ns = now;
    settle->awaits = pending;
}

static bool blinked(const struct settle_wait *settle, const struct blink_place *place) {
    return place->kind != BLINK_UNKNOWN && blink_place_changed_ns(place) >= settle->began_ns;
}

/* What may yet turn out to blink counts until then. */
static uint64_t last_change(const struct reader *reader) {
    uint64_t last = reader->settle.last_drawn_ns;
    for (int i = 0; i < reader->blinks.count && reader->settle.learns; i++) {
        const struct blink_place *place = &reader->blinks.places[i];
        uint64_t changed = blink_place_changed_ns(place);
        if (place->kind == BLINK_UNKNOWN && changed > last) last = changed;
    }
    return last;
}

int reader_ignored(const struct reader *reader, struct gd_BOX boxes[BLINK_PLACES]) {
    int count = 0;
    for (int i = 0; i < reader->blinks.count && reader->settle.learns; i++) {
        const struct blink_place *place = &reader->blinks.places[i];
        struct box box = place->box;
        if (blinked(&reader->settle, place))
            boxes[count++] = (struct gd_BOX){(uint16_t)box.x, (uint16_t)box.y, (uint16_t)box.width,
                                             (uint16_t)box.height};
    }
    return count;
}

bool reader_has_settled(const struct reader *reader, uint64_t now, bool *settled, uint64_t *due) {
    const struct settle_wait *settle = &reader->settle;
    uint64_t quiet_at = last_change(reader) + settle->quiet_ns;
    *settled = !settle->awaits && now >= quiet_at;
    *due = !settle->awaits && quiet_at < settle->until_ns ? quiet_at : settle->until_ns;
    return *settled || now >= settle->until_ns;
}
