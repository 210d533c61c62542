// EtcdWatch receives from etcd the changes of all keys below a prefix. It uses a connection of its
// own.
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

  // Starts to receive the changes from `revision` on. Ends a watch that is open.
  void start(const std::string& endpoint, const std::string& token, const std::string& prefix,
             std::int64_t revision);
  void stop();

  // The next message from etcd; nullopt: none has arrived yet. Errors: kIo, kInvalidArgument (the
  // watch has ended; the text gives the reason).
  Result<std::optional<WatchAnswer>> next();

  // Waits for a message, for at most `timeout` or until `wake_fd` becomes readable.
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
  std::string partial_;  // the line that has not arrived completely
  std::deque<std::string> lines_;
};

}  // namespace paravane::inventory
