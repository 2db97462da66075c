/* Serves the reader of the shared region. */
#ifndef GD_REGION_SERVICE_H
#define GD_REGION_SERVICE_H

#include "frame_service.h"

/* REGION: gives the region to the connection, or takes it back. */
void region_service_message(struct frame_service *service, struct connection *connection,
                            const struct message *message);
/* A FRAME_REQUEST with FRAME_REGION. */
void region_service_serve(struct frame_service *service, struct connection *connection);
/* The connection has gone. */
void region_service_gone(struct frame_service *service, const struct connection *connection);

#endif
