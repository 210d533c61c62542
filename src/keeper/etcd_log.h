// EtcdLog copies etcd's standard error to the daemon's log, at most kLines lines per ten seconds.
// Long lines are truncated, and unprintable characters are replaced. The contents are never
// interpreted, because other hosts can influence what etcd prints.
//
// Keeper's thread only.

#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/limited_log.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::keeper {

class EtcdLog {
 public:
  static constexpr std::size_t kLongest = 512;  // bytes of a line that are passed on
  static constexpr unsigned kLines = 5;         // in ten seconds
  using Clock = std::function<Instant()>;

  // `loop` outlives us.
  explicit EtcdLog(EventLoop& loop, Clock clock = std::chrono::steady_clock::now);
  ~EtcdLog();
  EtcdLog(const EtcdLog&) = delete;
  EtcdLog& operator=(const EtcdLog&) = delete;

  // Returns the descriptor for a new etcd to write to, after copying what the previous etcd wrote.
  // Errors: kIo.
  Result<UniqueFd> open();
  // Before another process goes on with it: a line that is not whole is copied as it is. Returns
  // our end of the pipe, which stays ours; -1: it was not opened.
  int pass_on();
  // In that process.
  void go_on(UniqueFd from_etcd);
  // Copies what was written and closes the descriptor; call it when etcd has ended.
  void close();

 private:
  Status listen(UniqueFd from_etcd);
  // False: there is nothing, or the writer has closed it.
  bool read();
  void take(char character);
  void say();

  EventLoop& loop_;
  const Clock clock_;
  UniqueFd from_etcd_;
  std::string line_;
  bool is_cut_ = false;
  LimitedLog log_{std::chrono::seconds(10), kLines};
};

}  // namespace paravane::keeper
