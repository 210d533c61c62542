#include "cluster/tls_line.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "authority/certificate.h"
#include "authority/door_message.h"

namespace paravane::cluster {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeConnection {
  void operator()(SSL* connection) const { SSL_free(connection); }
};
using Context = std::unique_ptr<SSL_CTX, FreeContext>;
using Connection = std::unique_ptr<SSL, FreeConnection>;

std::unexpected<Error> tls_failed(const char* what) {
  const unsigned long code = ERR_peek_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return fail(Errc::kIo,
              fmt::format("cannot {}: {}", what,
                          reason == nullptr ? "the peer closed the connection" : reason));
}

std::string print(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  std::string text;
  if (PEM_write_bio_X509(bio, certificate) == 1) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    text.assign(data, static_cast<std::size_t>(size));
  }
  BIO_free_all(bio);
  return text;
}

Result<Context> make_context(const std::filesystem::path& identity) {
  Context context(SSL_CTX_new(TLS_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1) {
    return tls_failed("prepare TLS");
  }
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  if (identity.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(context.get(), identity.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), identity.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_failed("read this host's certificate");
  }
  return context;
}

// A connection with a time limit over all that is done with it.
class Talk {
 public:
  Talk(SSL_CTX* context, int fd, int give_up = -1)
      : fd_(fd),
        give_up_(give_up),
        end_(Clock::now() + kTlsPatience),
        connection_(SSL_new(context)) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    // Or one call would go on for as long as somebody sends new keys.
    SSL_clear_mode(connection_.get(), SSL_MODE_AUTO_RETRY);
    SSL_set_fd(connection_.get(), fd);
  }
  SSL* get() { return connection_.get(); }

  template <typename Function>
  Result<int> run(const char* what, Function function) {
    while (true) {
      ERR_clear_error();
      const int done = function(connection_.get());
      if (done > 0) return done;
      const int error = SSL_get_error(connection_.get(), done);
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return tls_failed(what);
      if (!wait(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT)) {
        return fail(Errc::kIo, fmt::format("cannot {}: the peer is too slow", what));
      }
    }
  }

  Status write(const std::string& line) {
    const auto done = run("send", [&line](SSL* ssl) {
      return SSL_write(ssl, line.data(), static_cast<int>(line.size()));
    });
    if (!done) return std::unexpected(done.error());
    return {};
  }

  Result<std::string> read_line() {
    std::string line;
    std::array<char, 4096> piece{};
    while (line.size() <= authority::kMaxDoorLine) {
      const auto size = run("receive", [&piece](SSL* ssl) {
        return SSL_read(ssl, piece.data(), static_cast<int>(piece.size()));
      });
      if (!size) return std::unexpected(size.error());
      line.append(piece.data(), static_cast<std::size_t>(*size));
      const std::size_t end = line.find('\n');
      if (end == std::string::npos) continue;
      if (end + 1 != line.size() || end > authority::kMaxDoorLine) break;
      line.pop_back();
      return line;
    }
    return fail(Errc::kInvalidArgument, "the message is not a single line");
  }

  ShownCertificates shown() {
    ShownCertificates all;
    X509* own = SSL_get0_peer_certificate(connection_.get());
    if (own == nullptr) return all;
    all.push_back(print(own));
    STACK_OF(X509)* chain = SSL_get_peer_cert_chain(connection_.get());
    for (int i = 0; i < std::min(sk_X509_num(chain), 4); ++i) {
      all.push_back(print(sk_X509_value(chain, i)));
    }
    return all;
  }

 private:
  bool wait(short events) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
    if (left.count() <= 0) return false;
    std::array<pollfd, 2> polls{pollfd{.fd = fd_, .events = events, .revents = 0},
                                pollfd{.fd = give_up_, .events = POLLIN, .revents = 0}};
    return ::poll(polls.data(), polls.size(), static_cast<int>(left.count())) > 0 &&
           polls[1].revents == 0;
  }

  int fd_;
  int give_up_;
  Clock::time_point end_;
  Connection connection_;
};

}  // namespace

Result<std::string> exchange_line(const UniqueFd& socket, const TlsClient& client,
                                  const std::string& line) {
  const auto context = make_context(client.identity);
  if (!context) return std::unexpected(context.error());
  SSL_CTX_set_verify(context->get(), SSL_VERIFY_NONE, nullptr);  // client.accept() does it
  Talk talk(context->get(), socket.get());
  const auto greeted = talk.run("agree on TLS", [](SSL* ssl) { return SSL_connect(ssl); });
  if (!greeted) return std::unexpected(greeted.error());
  if (Status good = client.accept(talk.shown()); !good) return std::unexpected(good.error());
  if (Status sent = talk.write(line); !sent) return std::unexpected(sent.error());
  return talk.read_line();
}

Status serve_line(const UniqueFd& socket, const TlsServer& server, int give_up) {
  const auto context = make_context(server.identity);
  if (!context) return std::unexpected(context.error());
  SSL_CTX* raw = context->get();
  // Who joins has none to show yet.
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_load_verify_file(raw, server.authority.c_str()) != 1) {
    return tls_failed("read the authority's certificate");
  }
  Talk talk(raw, socket.get(), give_up);
  const auto greeted = talk.run("agree on TLS", [](SSL* ssl) { return SSL_accept(ssl); });
  if (!greeted) return std::unexpected(greeted.error());
  std::optional<authority::Peer> peer;
  if (const auto shown = talk.shown(); !shown.empty()) {
    const auto certificate = authority::inspect(shown.front());
    if (!certificate || !certificate->identity) {
      return fail(Errc::kInvalidArgument, "the certificate does not identify a host");
    }
    peer = {.identity = *certificate->identity, .key = certificate->key};
  }
  const auto line = talk.read_line();
  if (!line) return std::unexpected(line.error());
  if (Status sent = talk.write(server.answer(peer, *line)); !sent) return sent;
  SSL_shutdown(talk.get());
  return {};
}

}  // namespace paravane::cluster
