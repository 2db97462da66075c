# What ga-desktop is made of; the Makefile one folder up builds it.
DESKTOP_SRCS := $(addprefix ga-desktop/, \
	batch.c box.c capture.c chord.c clock.c connection.c cursor.c drain.c drain_target.c frame_service.c frames.c \
	gesture.c grab.c held.c idle.c input.c input_service.c keyboard.c keymap.c keysym.c loop.c main.c op_reader.c \
	opening.c options.c pixels.c pixels_vector.c placing.c reader.c spare.c spare_record.c typist.c x_display.c) \
	common/sha256.c
DESKTOP_LIBS := xcb-xkb xcb-xtest xcb-damage xcb-xfixes xcb-shm xcb-res xcb Xau Xdmcp bsd md
DESKTOP_TEST_SRCS := $(addprefix ga-desktop/, tests/test_pixels.c box.c pixels.c pixels_vector.c)
# Debian packages that hold the headers and static libraries.
DESKTOP_PACKAGES := libxcb1-dev libxcb-xkb-dev libxcb-xtest0-dev libxcb-damage0-dev libxcb-xfixes0-dev libxcb-shm0-dev \
	libxcb-res0-dev libxau-dev libxdmcp-dev libbsd-dev libmd-dev
