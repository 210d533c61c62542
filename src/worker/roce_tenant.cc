#include "worker/roce_tenant.h"

#include <sys/epoll.h>

namespace paravane::worker {

Status RoceTenant::watch(verbs::AdapterId id, int fd, std::function<void()> on_gone) {
  return loop_.watch(fd, EPOLLIN, [this, id, fd, gone = std::move(on_gone)](std::uint32_t events) {
    if ((events & (EPOLLERR | EPOLLHUP)) == 0) return on_readable(id, fd);
    // It says so at each look, whatever it is watched for.
    unwatch(fd);
    gone();
  });
}

void RoceTenant::unwatch(int fd) {
  loop_.unwatch(fd);
  const auto resting = resting_.find(fd);
  if (resting == resting_.end()) return;
  timers_.cancel(resting->second);
  resting_.erase(resting);
}

// The descriptor stays readable while nothing is read, and would wake the worker without end.
void RoceTenant::on_readable(verbs::AdapterId id, int fd) {
  const Instant resumes = transport_.resumes(id);
  if (resumes <= clock_.now) {
    readable_ = true;
    return;
  }
  if (resting_.contains(fd)) return;
  // First, because a descriptor that is not watched would not come back without it.
  resting_[fd] = timers_.set(resumes, [this, fd](Instant) {
    resting_.erase(fd);
    static_cast<void>(loop_.change(fd, EPOLLIN));
  });
  static_cast<void>(loop_.change(fd, 0));
}

}  // namespace paravane::worker
