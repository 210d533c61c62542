#include "inventory/etcd_watch.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "json/json_text.h"

namespace paravane::inventory {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxLine = std::size_t{16} << 20;
constexpr long kConnectMs = 5'000;

}  // namespace

EtcdWatch::EtcdWatch(const EtcdAccess& access, const OpenSocket& open)
    : curl_(access, open), multi_(curl_multi_init()) {
  curl_easy_setopt(curl_.get(), CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
}

EtcdWatch::~EtcdWatch() {
  stop();
}

void EtcdWatch::start(const std::string& endpoint, const std::string& token,
                      const std::string& prefix, std::int64_t revision) {
  stop();
  const json body = {{"create_request",
                      {{"key", base64_encode(prefix)},
                       {"range_end", base64_encode(end_of_prefix(prefix))},
                       // Or all changes of one revision come in one line, however many.
                       {"fragment", true},
                       {"start_revision", std::to_string(revision)}}}};
  curl_.prepare(endpoint + "/v3/watch", body.dump(), token,
                [this](std::string_view data) { return take(data); });
  curl_multi_add_handle(multi_.get(), curl_.get());
  open_ = true;
  run();
}

void EtcdWatch::stop() {
  if (open_) curl_multi_remove_handle(multi_.get(), curl_.get());
  open_ = false;
  over_.reset();
  partial_.clear();
  lines_.clear();
}

// One JSON document a line. The bound is for what is not yet taken, whole lines included.
bool EtcdWatch::take(std::string_view data) {
  std::size_t waiting = partial_.size() + data.size();
  for (const std::string& line : lines_) waiting += line.size();
  if (waiting > kMaxLine) return false;
  while (!data.empty()) {
    const std::size_t end = data.find('\n');
    partial_ += data.substr(0, end);
    if (end == std::string_view::npos) break;
    if (!partial_.empty()) lines_.push_back(std::exchange(partial_, {}));
    data.remove_prefix(end + 1);
  }
  return true;
}

void EtcdWatch::run() {
  if (!open_ || over_) return;
  int running = 0;
  curl_multi_perform(multi_.get(), &running);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    const CURLcode code = message->data.result;
    const std::string why = code != CURLE_OK ? curl_.explain(code)
                            : status != 200  ? read_refusal(partial_).message
                                             : "etcd closed the stream";
    over_ = Error{Errc::kIo, "etcd's watch: " + why};
  }
}

Result<std::optional<WatchAnswer>> EtcdWatch::next() {
  if (lines_.empty()) run();
  if (lines_.empty()) {
    if (over_) return std::unexpected(*over_);
    return std::nullopt;
  }
  const std::string line = std::move(lines_.front());
  lines_.pop_front();
  const auto value = parse_json(line);
  if (!value) return fail(Errc::kInvalidArgument, "etcd's watch sent an invalid answer");
  auto answer = read_watch(*value);
  if (!answer) return std::unexpected(answer.error());
  return std::optional(std::move(*answer));
}

void EtcdWatch::wait(std::chrono::milliseconds timeout, int wake_fd) {
  if (!lines_.empty() || (open_ && over_)) return;
  curl_waitfd wake{.fd = wake_fd, .events = CURL_WAIT_POLLIN, .revents = 0};
  curl_multi_poll(multi_.get(), &wake, 1, static_cast<int>(timeout.count()), nullptr);
  run();
}

}  // namespace paravane::inventory
