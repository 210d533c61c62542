// EtcdWatch: a stream of the changes below a prefix, on a connection of its own.
//
// Owner thread only.

#pragma once

#include <curl/curl.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "inventory/curl_handle.h"
#include "inventory/etcd_json.h"

namespace paravane::inventory {

class EtcdWatch {
 public:
  // `access` and `open` outlive the watch.
  EtcdWatch(const EtcdAccess& access, const OpenSocket& open);
  ~EtcdWatch();
  EtcdWatch(const EtcdWatch&) = delete;
  EtcdWatch& operator=(const EtcdWatch&) = delete;

  // Changes from `revision` on. A watch that was open is over.
  void start(const std::string& endpoint, const std::string& token, const std::string& prefix,
             std::int64_t revision);
  void stop();

  // The next that etcd has said; nullopt: nothing yet.
  // Errors: kIo, kInvalidArgument: the stream is over, with the reason.
  Result<std::optional<WatchAnswer>> next();

  // Waits for more of it, at most for `timeout`; `wake_fd` becoming readable ends that.
  void wait(std::chrono::milliseconds timeout, int wake_fd);

 private:
  bool take(std::string_view data);
  void run();

  struct Cleanup {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  CurlHandle curl_;
  std::unique_ptr<CURLM, Cleanup> multi_;
  bool open_ = false;
  std::optional<Error> over_;
  std::string partial_;  // the line that is not whole
  std::deque<std::string> lines_;
};

}  // namespace paravane::inventory
