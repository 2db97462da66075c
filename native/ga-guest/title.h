/* What process listings show of us. Our options would only mislead: `pkill -f` in a world must not match them. */
#ifndef GA_TITLE_H
#define GA_TITLE_H

/* Remembers where the arguments lie. They are overwritten by title_set, so whoever needs one later copies it before. */
void title_begin(int argc, char **argv);
void title_set(const char *title);

#endif
