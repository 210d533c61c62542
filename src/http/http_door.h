// HttpDoor accepts clients on a listening socket, reads one request from each, and has a
// RequestHandler answer it.
//
// One thread accepts clients and collects the bytes of their requests in a RequestLobby. Complete
// requests wait in a RequestQueue for a fixed number of other threads. These threads call the
// handler and write the response, and never wait for a client to send more. Sizes and times are
// bounded.
//
// When the process is out of descriptors or memory, the client gets a prepared response
// (refusal.h).

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/api_handler.h"
#include "base/doorway.h"
#include "base/event_loop.h"
#include "base/limited_log.h"
#include "base/result.h"
#include "base/timers.h"
#include "base/unique_fd.h"
#include "http/request_lobby.h"
#include "http/request_queue.h"

namespace paravane::http {

struct HttpDoorConfig {
  std::string name;  // of its threads and in log lines; at most 10 characters
  unsigned threads = 1;
};

class HttpDoor {
 public:
  // `listener` listens and does not block. `handler` outlives the door and may be called
  // from any thread. Errors: kIo.
  static Result<std::unique_ptr<HttpDoor>> open(HttpDoorConfig config, UniqueFd listener,
                                                api::RequestHandler& handler);
  // Answers the requests in progress, then stops.
  ~HttpDoor();
  // ---- Any thread: another process is to answer on the same socket ----
  // Accepts no clients until resume(). Requests that are complete are answered.
  void pause();
  void resume();
  // Whether the door is paused and all requests are answered.
  bool is_idle() const { return held_.load() && open_requests_.load() == 0; }
  // The listening socket, which stays ours.
  int listener() const { return doorway_.listener(); }

  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

 private:
  HttpDoor(HttpDoorConfig config, std::unique_ptr<EventLoop> loop, api::RequestHandler& handler);
  void keep_door();
  void keep_held(Instant now);
  Status look(std::optional<Duration> wait);
  void take_in(UniqueFd client);
  void hand_over(ApiRequest request);
  void serve();

  const HttpDoorConfig config_;
  api::RequestHandler& handler_;
  const std::string without_descriptors_;  // the response when descriptors have run out
  const std::string without_memory_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> paused_{false};    // as wanted
  std::atomic<bool> held_{false};      // as the door's thread has it
  std::atomic<int> open_requests_{0};  // complete and not answered
  RequestQueue queue_;
  std::unique_ptr<EventLoop> loop_;  // the door's
  RequestLobby lobby_;
  TimerQueue timers_;
  Doorway doorway_;
  LimitedLog complaints_;  // of the door's thread
  std::vector<std::thread> threads_;
};

}  // namespace paravane::http
