#include "privsep/dialer.h"

#include <fmt/core.h>

#include <charconv>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace paravane::privsep {
namespace {

std::unexpected<Error> no_answer() {
  return fail(Errc::kIo, "the privileged process did not respond");
}

std::unexpected<Error> read_refusal(const char* text, const char* end) {
  int cause = 0;
  const auto [rest, error] = std::from_chars(text, end, cause);
  const char* reason = error == std::errc() && rest != end ? rest + 1 : text;
  return fail(Errc::kIo, std::string(reason, end), cause);
}

}  // namespace

std::string Dialer::refusal(std::string_view id, const Error& error) {
  return fmt::format("{} {} {}", id, static_cast<int>(error.cause), error.message);
}

void Dialer::ask(Note::Kind kind, const std::string& endpoint, const Done& done) {
  const Instant now = std::chrono::steady_clock::now();
  std::vector<Done> late;
  std::uint64_t id = 0;
  bool closed = false;
  {
    const MutexLock lock(mutex_);
    closed = closed_;
    for (auto at = pending_.begin(); at != pending_.end();) {
      if (at->second.deadline > now) {
        ++at;
        continue;
      }
      late.push_back(std::move(at->second.done));
      at = pending_.erase(at);
    }
    if (!closed_ && pending_.size() < kMost) {
      id = next_id_++;
      pending_[id] = {.done = done, .deadline = now + kPatience};
    }
  }
  for (const Done& given_up : late) given_up(no_answer());
  if (closed) {
    done(no_answer());
    return;
  }
  if (id == 0) {
    done(fail(Errc::kResourceExhausted, "too many connections in progress"));
    return;
  }
  send_({.kind = kind, .text = std::to_string(id) + " " + endpoint});
}

void Dialer::on_answer(const std::string& text, UniqueFd socket) {
  std::uint64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc()) return;
  Done done;
  {
    const MutexLock lock(mutex_);
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;  // given up
    done = std::move(found->second.done);
    pending_.erase(found);
  }
  if (socket) {
    done(std::move(socket));
    return;
  }
  done(rest == end ? fail(Errc::kIo, "no socket was received") : read_refusal(rest + 1, end));
}

Result<UniqueFd> Dialer::ask_and_wait(Note::Kind kind, const std::string& endpoint) {
  // Shared: we may give up before the answer.
  const auto answer = std::make_shared<std::promise<Result<UniqueFd>>>();
  auto future = answer->get_future();
  ask(kind, endpoint, [answer](Result<UniqueFd> socket) { answer->set_value(std::move(socket)); });
  if (future.wait_for(kPatience) == std::future_status::ready) return future.get();
  return no_answer();
}

void Dialer::close() {
  std::map<std::uint64_t, Pending> rest;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    rest.swap(pending_);
  }
  for (const auto& [id, pending] : rest) pending.done(no_answer());
}

}  // namespace paravane::privsep
