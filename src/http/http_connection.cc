#include "http/http_connection.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/version.h"
#include "http/range_header.h"
#include "http/refusal.h"
#include "http/request_bytes.h"

namespace paravane::http {
namespace {

using Clock = std::chrono::steady_clock;

// For the whole answer to go out.
constexpr auto kAnswerTime = std::chrono::seconds(5);

// A request that has come in, and a socket for the answer with a deadline for all
// of it, so that a client that reads a byte now and then does not hold a thread.
class AnswerStream final : public httplib::Stream {
 public:
  AnswerStream(int fd, std::string_view request) : fd_(fd), request_(request) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }

  ssize_t read(char* out, std::size_t size) override {
    if (request_.empty()) return -1;  // nothing more comes
    const std::size_t count = request_.copy(out, size);
    request_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* data, std::size_t size) override {
    if (!began()) write_by_ = Clock::now() + kAnswerTime;
    if (!wait_for_room()) return -1;
    return ::send(fd_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  // The answer is under way.
  bool began() const { return write_by_ != Clock::time_point{}; }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  socket_t socket() const override { return fd_; }

 private:
  bool wait_for_room() const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(write_by_ - Clock::now());
    if (left.count() <= 0) return false;
    pollfd poll{.fd = fd_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&poll, 1, static_cast<int>(left.count()));
    return ready > 0 || (ready < 0 && errno == EINTR);
  }

  int fd_;
  std::string_view request_;  // what is not read yet
  Clock::time_point write_by_{};
};

void set_answer(httplib::Response& response, const api::ApiResponse& answer) {
  response.status = answer.status;
  response.set_header("Server", std::string("paravaned/") + kVersion);
  response.set_content(answer.body, answer.content_type);
}

bool is_without_memory(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

// What the parser must not even begin to unpack: we take plain bodies of a known
// length only.
const char* refused_form(const httplib::Request& request) {
  if (request.path.size() > api::kMaxApiPath) return "the path is too long";
  if (request.has_header("Transfer-Encoding")) return "a body needs a Content-Length";
  if (request.has_header("Content-Encoding")) return "compressed requests are not supported";
  const std::string type = request.get_header_value("Content-Type");
  if (!type.empty() && !type.starts_with("application/json")) {
    return "the Content-Type must be application/json";
  }
  return nullptr;
}

// httplib's parser and routing without its threads and sockets.
class HttpServer final : private httplib::Server {
 public:
  HttpServer(api::RequestHandler& handler, std::size_t most) : handler_(handler) {
    set_payload_max_length(most);
    set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
      const char* reason = refused_form(request);
      if (reason == nullptr) return HandlerResponse::Unhandled;
      refuse(response, model::ApiErrorCode::kInvalidRequest, reason);
      return HandlerResponse::Handled;
    });
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      set_answer(response, handler_.handle({.method = request.method,
                                            .path = request.path,
                                            .query = request.params,
                                            .body = request.body}));
    };
    Get(".*", handle);
    Post(".*", handle);
    Patch(".*", handle);
    Delete(".*", handle);
    set_exception_handler([](const httplib::Request& /*request*/, httplib::Response& response,
                             const std::exception_ptr& exception) {
      if (is_without_memory(exception)) std::rethrow_exception(exception);
      refuse(response, model::ApiErrorCode::kInternal, "the request could not be handled");
    });
    set_error_handler([](const httplib::Request& /*request*/, httplib::Response& response) {
      if (!response.body.empty()) return;  // one of our own answers
      const bool large = response.status == 413 || response.status == 414;
      const bool method = response.status == 404;  // every path of ours has a handler
      refuse(response,
             large    ? model::ApiErrorCode::kTooLarge
             : method ? model::ApiErrorCode::kMethodNotAllowed
                      : model::ApiErrorCode::kInvalidRequest,
             large    ? "the request is too large"
             : method ? "the API does not use this method"
                      : "malformed request");
    });
  }

  void serve(httplib::Stream& stream) { process(*this, stream); }

 private:
  // A template, since httplib asks for both ends' addresses from 0.18 on (Debian 13).
  template <typename Server>
  static void process(Server& server, httplib::Stream& stream) {
    bool closed = false;
    if constexpr (requires {
                    server.process_request(stream, "", 0, "", 0, true, closed, forget_ranges);
                  }) {
      server.process_request(stream, "", 0, "", 0, true, closed, forget_ranges);
    } else {
      server.process_request(stream, true, closed, forget_ranges);
    }
  }

  // The parser copies the answer once for each range that is asked for. A server may
  // pay them no heed (RFC 9110, 14.2).
  static void forget_ranges(httplib::Request& request) { request.ranges.clear(); }

  static void refuse(httplib::Response& response, model::ApiErrorCode code, const char* message) {
    set_answer(
        response,
        api::error_response(
            {.code = code,
             .message = message,
             .remedy = "See /usr/share/doc/paravane/docs/api.md for the supported requests."}));
  }

  api::RequestHandler& handler_;
};

}  // namespace

void serve_http(UniqueFd connection, std::string_view request, api::RequestHandler& handler,
                std::string_view without_memory) noexcept {
  bool began = false;
  try {
    const std::string plain = without_ranges(request);
    AnswerStream stream(connection.get(), plain);
    HttpServer server(handler, api::max_api_body(path_of(plain)));
    try {
      server.serve(stream);
    } catch (...) {
      began = stream.began();
      throw;
    }
  } catch (...) {  // no memory: nothing else is thrown here
    if (!began) return tell_and_close(std::move(connection), without_memory);
  }
  ::shutdown(connection.get(), SHUT_WR);  // the answer has ended; more is not read
}

}  // namespace paravane::http
