// Two TLS streams over a socket pair: bytes arrive whole and in order, however the pieces
// lie and however little the socket takes.

#include "transport/tcp/tls_stream.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <random>
#include <vector>

namespace paravane::transport_tcp {
namespace {

constexpr std::size_t kLongestRecord = std::size_t{16} * 1024;

// With a key and a certificate of its own.
SSL_CTX* make_context() {
  SSL_CTX* context = SSL_CTX_new(TLS_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_num_tickets(context, 0);
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  SSL_CTX_use_certificate(context, certificate);
  SSL_CTX_use_PrivateKey(context, key);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return context;
}

using Buffers = std::vector<std::vector<std::byte>>;

std::vector<iovec> pieces_of(Buffers& buffers) {
  std::vector<iovec> pieces;
  for (std::vector<std::byte>& buffer : buffers) {
    pieces.push_back({.iov_base = buffer.data(), .iov_len = buffer.size()});
  }
  return pieces;
}

// What is left of them when `bytes` are done.
std::vector<iovec> after(std::vector<iovec> pieces, std::size_t bytes) {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces.erase(pieces.begin());
  }
  if (!pieces.empty()) {
    pieces.front().iov_base = static_cast<std::byte*>(pieces.front().iov_base) + bytes;
    pieces.front().iov_len -= bytes;
  }
  return pieces;
}

class TlsStreamTest : public testing::Test {
 protected:
  TlsStreamTest() : context_(make_context()) {
    ::signal(SIGPIPE, SIG_IGN);  // as the daemon does
    meet();
  }
  ~TlsStreamTest() override { SSL_CTX_free(context_); }

  // `longest`: what the first asks for, RFC 6066, section 4.
  void meet(std::uint8_t longest = TLSEXT_max_fragment_length_DISABLED) {
    std::array<int, 2> sockets{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets.data()), 0);
    for (std::size_t side = 0; side < 2; ++side) {
      tls_[side] = SSL_new(context_);
      SSL_set_fd(tls_[side], sockets[side]);
    }
    SSL_set_tlsext_max_fragment_length(tls_[0], longest);
    SSL_set_connect_state(tls_[0]);
    SSL_set_accept_state(tls_[1]);
    for (int done = 0; done < 2;) {
      done = (SSL_do_handshake(tls_[0]) == 1 ? 1 : 0) + (SSL_do_handshake(tls_[1]) == 1 ? 1 : 0);
    }
    for (std::size_t side = 0; side < 2; ++side) {
      streams_[side] = std::make_unique<TlsStream>(tls_[side], UniqueFd(sockets[side]));
    }
    // Each record is one write.
    BIO_set_callback_ex(SSL_get_wbio(tls_[0]), count_record);
    BIO_set_callback_arg(SSL_get_wbio(tls_[0]), reinterpret_cast<char*>(this));
  }

  void set_socket_buffer(int bytes) {
    ::setsockopt(streams_[0]->fd(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }

  Buffers random_buffers(std::size_t total, std::size_t longest) {
    Buffers buffers;
    for (std::size_t have = 0; have < total;) {
      const std::size_t size = std::min(1 + random_() % longest, total - have);
      std::vector<std::byte>& buffer = buffers.emplace_back(size);
      std::ranges::generate(buffer, [this] { return static_cast<std::byte>(random_()); });
      have += size;
    }
    return buffers;
  }

  SSL_CTX* context_;
  std::array<SSL*, 2> tls_{};
  std::array<std::unique_ptr<TlsStream>, 2> streams_;
  int records_ = 0;  // that were sent
  std::size_t sent_ = 0;
  std::mt19937 random_{20261122};

 private:
  static long count_record(BIO* bio, int what, const char*, std::size_t, int, long, int returned,
                           std::size_t*) {
    if (what == BIO_CB_WRITE) {
      ++reinterpret_cast<TlsStreamTest*>(BIO_get_callback_arg(bio))->records_;
    }
    return returned;
  }
};

TEST_F(TlsStreamTest, BytesArriveWholeAndInOrderHoweverThePiecesLie) {
  set_socket_buffer(4096);
  for (const std::size_t longest : {1'000U, 5'000U, 40'000U}) {
    const std::size_t total = 20 * longest;
    Buffers from = random_buffers(total, longest);
    Buffers to = random_buffers(total, longest);
    std::size_t sent = 0;
    std::size_t got = 0;
    for (int idle = 0; got < total && idle < 100; ++idle) {
      if (const auto pieces = after(pieces_of(from), sent); !pieces.empty()) {
        const IoResult result = streams_[0]->write(pieces);
        ASSERT_TRUE(result.kind == IoResult::Kind::kMoved ||
                    result.kind == IoResult::Kind::kWouldBlock);
        sent += result.bytes;
      }
      // Until it says that there is no more: the socket does not say it again.
      for (bool more = true; more && got < total;) {
        const IoResult result = streams_[1]->read(after(pieces_of(to), got));
        ASSERT_TRUE(result.kind == IoResult::Kind::kMoved ||
                    result.kind == IoResult::Kind::kWouldBlock);
        got += result.bytes;
        more = result.kind == IoResult::Kind::kMoved && !result.was_all;
        if (result.bytes > 0) idle = 0;
      }
    }
    std::vector<std::byte> expected;
    std::vector<std::byte> seen;
    for (const auto& buffer : from) expected.insert(expected.end(), buffer.begin(), buffer.end());
    for (const auto& buffer : to) seen.insert(seen.end(), buffer.begin(), buffer.end());
    ASSERT_EQ(got, total);
    EXPECT_TRUE(seen == expected) << "pieces up to " << longest;
  }
}

TEST_F(TlsStreamTest, AMessageTakesNoMoreRecordsThanItHasBytesFor) {
  Buffers message{std::vector<std::byte>(172), std::vector<std::byte>(4 * kLongestRecord),
                  std::vector<std::byte>(32)};
  EXPECT_EQ(streams_[0]->write(pieces_of(message)).bytes, 172 + 4 * kLongestRecord + 32);
  EXPECT_EQ(records_, 5);
  // In scattered pages.
  Buffers scattered(64, std::vector<std::byte>(1024));
  EXPECT_EQ(streams_[0]->write(pieces_of(scattered)).bytes, 4 * kLongestRecord);
  EXPECT_EQ(records_, 9);
}

// OpenSSL has encrypted some of what would block, and may look at the rest again.
TEST_F(TlsStreamTest, WhatWouldBlockIsShownAgainAsItWas) {
  meet(TLSEXT_max_fragment_length_512);
  int small = 2048;
  ::setsockopt(streams_[1]->fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  std::vector<std::byte> message(8 * kLongestRecord, std::byte{7});
  std::vector<std::byte> seen;
  while (seen.size() < message.size()) {
    const std::size_t left = message.size() - sent_;
    const iovec from{.iov_base = message.data(), .iov_len = left};
    if (left > 0) sent_ += streams_[1]->write(std::span(&from, 1)).bytes;
    std::vector<std::byte> piece(3000);
    const iovec to{.iov_base = piece.data(), .iov_len = piece.size()};
    const IoResult result = streams_[0]->read(std::span(&to, 1));
    ASSERT_NE(result.kind, IoResult::Kind::kBroken) << streams_[0]->problem();
    seen.insert(seen.end(), piece.begin(), piece.begin() + static_cast<long>(result.bytes));
  }
  EXPECT_EQ(std::ranges::count(seen, std::byte{7}), std::ssize(seen));
}

class TlsStreamKeysTest : public TlsStreamTest {
 protected:
  void change_keys(int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(SSL_key_update(tls_[0], SSL_KEY_UPDATE_NOT_REQUESTED), 1);
      ASSERT_EQ(SSL_do_handshake(tls_[0]), 1);
    }
  }
  void send_byte() {
    std::byte byte{9};
    const iovec from{.iov_base = &byte, .iov_len = 1};
    ASSERT_EQ(streams_[0]->write(std::span(&from, 1)).bytes, 1u);
  }
  IoResult read() {
    const iovec to{.iov_base = read_.data(), .iov_len = read_.size()};
    return streams_[1]->read(std::span(&to, 1));
  }
  std::array<std::byte, 100> read_{};
};

TEST_F(TlsStreamKeysTest, NewKeysNowAndThenAreGood) {
  for (int i = 0; i < 20; ++i) {
    change_keys(2);
    send_byte();
    IoResult result = read();
    while (result.kind == IoResult::Kind::kWouldBlock) result = read();
    ASSERT_EQ(result.bytes, 1u);
    EXPECT_GT(result.effort, 100'000u) << "it is not for nothing";
  }
}

TEST_F(TlsStreamKeysTest, NothingButNewKeysBreaksTheStream) {
  change_keys(100);
  send_byte();
  IoResult result = read();
  while (result.kind == IoResult::Kind::kWouldBlock) result = read();
  EXPECT_EQ(result.kind, IoResult::Kind::kBroken);
  EXPECT_NE(streams_[1]->problem().find("key updates"), std::string::npos);
  EXPECT_EQ(read().kind, IoResult::Kind::kBroken);
}

TEST_F(TlsStreamKeysTest, RecordsOfOneByteAreTakenAFewAtATime) {
  for (int i = 0; i < 100; ++i) send_byte();
  const IoResult result = read();
  EXPECT_EQ(result.bytes, 32u);
  EXPECT_FALSE(result.was_all);
  EXPECT_GE(result.effort, 32u * 4096);
}

TEST_F(TlsStreamKeysTest, PaddingIsPaidForAsIfItWerePayload) {
  SSL_set_block_padding(tls_[0], kLongestRecord);
  send_byte();
  send_byte();
  const IoResult result = read();
  EXPECT_EQ(result.bytes, 2u);
  EXPECT_GE(result.effort, 2 * (kLongestRecord - 64));
  SSL_set_block_padding(tls_[0], 0);
  send_byte();
  EXPECT_LT(read().effort, kLongestRecord) << "once";
}

TEST_F(TlsStreamTest, AnEndIsNoError) {
  std::vector<std::byte> byte(1);
  const iovec to{.iov_base = byte.data(), .iov_len = 1};
  EXPECT_EQ(streams_[1]->read(std::span(&to, 1)).kind, IoResult::Kind::kWouldBlock);
  SSL_shutdown(tls_[0]);
  EXPECT_EQ(streams_[1]->read(std::span(&to, 1)).kind, IoResult::Kind::kClosed);
}

TEST_F(TlsStreamTest, ASocketThatEndsIsBrokenWithAReason) {
  std::vector<std::byte> byte(1);
  const iovec to{.iov_base = byte.data(), .iov_len = 1};
  ::shutdown(streams_[0]->fd(), SHUT_RDWR);
  EXPECT_EQ(streams_[1]->read(std::span(&to, 1)).kind, IoResult::Kind::kBroken);
  EXPECT_NE(streams_[1]->problem().find("unexpected eof"), std::string::npos)
      << streams_[1]->problem();
}

}  // namespace
}  // namespace paravane::transport_tcp
