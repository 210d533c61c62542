// The settings that all libcurl requests share: TLS with the authority's certificate, sockets that
// are connected elsewhere, no proxy, no redirects, bounded responses.
//
// One thread at a time.

#pragma once

#include <curl/curl.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::inventory {

// How etcd is reached. Empty paths: not used.
struct EtcdAccess {
  std::vector<std::string> endpoints{};  // "https://192.0.2.1:2379"; tried in turn
  std::filesystem::path authority{};     // who must have signed etcd's certificate (PEM)
  std::filesystem::path identity{};      // our certificate and its key, in one file (PEM)
  std::string user{};                    // empty: etcd asks for none
  std::string password{};
  // Set by any thread: what is under way is given up within a second or so.
  const std::atomic<bool>* given_up = nullptr;
};

// A stream socket that is connected to this address ("192.0.2.1:2379"). May take a few
// seconds. Empty: libcurl connects by itself.
using OpenSocket = std::function<Result<UniqueFd>(const std::string& address)>;

// Once per process, while it has one thread.
void prepare_curl();

class CurlHandle {
 public:
  // What was received so far; false: no more of it.
  using OnData = std::function<bool(std::string_view)>;

  // `open` outlives the handle.
  CurlHandle(const EtcdAccess& access, const OpenSocket& open);

  // A POST of `body`. `token` may be empty.
  void prepare(const std::string& url, const std::string& body, const std::string& token,
               OnData on_data);
  CURL* get() { return handle_.get(); }
  // Why it failed, in words.
  std::string explain(CURLcode code) const;

 private:
  struct Cleanup {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  static std::size_t take(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int keep_on(void* given_up, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
  static int after_open(void* self, curl_socket_t socket, curlsocktype purpose);

  const OpenSocket& open_;
  std::string body_;
  OnData on_data_;
  std::string socket_problem_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<CURL, Cleanup> handle_;
};

}  // namespace paravane::inventory
