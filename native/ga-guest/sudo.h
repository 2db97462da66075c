/* `sudo` for worlds where set-uid programs do nothing: a client of the root exec service. */
#ifndef GA_SUDO_H
#define GA_SUDO_H

#define SUDO_DEFAULT_SOCKET "/run/ga-guest/root.sock"

int sudo_main(int argc, char **argv);

#endif
