// CurlHandle is a libcurl handle with the settings that all requests to etcd share: TLS with the
// configured CA, sockets that the caller has connected, no proxy, no redirects, and a bounded
// response size.
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

// How to reach etcd. An empty path means that the file is not used.
struct EtcdAccess {
  std::vector<std::string> endpoints{};  // "https://192.0.2.1:2379"; tried in turn
  std::filesystem::path authority{};     // the CA that signed etcd's certificate (PEM)
  std::filesystem::path identity{};      // our certificate and its key, in one file (PEM)
  std::string user{};                    // empty: etcd asks for none
  std::string password{};
  // Any thread may set it to true; requests in progress then fail within about a second.
  const std::atomic<bool>* given_up = nullptr;
};

// Returns a stream socket that is connected to `address` ("192.0.2.1:2379"). May take a few
// seconds. If the function is empty, libcurl connects.
using OpenSocket = std::function<Result<UniqueFd>(const std::string& address)>;

// Call it once per process, before a second thread is started.
void prepare_curl();

class CurlHandle {
 public:
  // Called with each piece of the response; returns false to end the transfer.
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
