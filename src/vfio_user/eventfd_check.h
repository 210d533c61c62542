// prepare_eventfd() checks that a descriptor which came from outside is an eventfd, before it is
// used to signal an interrupt.
//
// Any thread.

#pragma once

namespace paravane::vfio_user {

// Makes the eventfd non-blocking, too. False: it is no eventfd, or the check failed.
bool prepare_eventfd(int fd);

}  // namespace paravane::vfio_user
