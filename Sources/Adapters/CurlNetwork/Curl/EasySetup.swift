import CCurl
import LinkCore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension Easy {
  /// What every transfer has in common: trust, proxies, sharing. TLS is never loosened.
  func prepare(
    _ address: Address, _ configuration: CurlConfiguration, share: Share, timeout: Duration
  ) {
    set(CURLOPT_NOSIGNAL, 1)
    // Else ending a transfer whose name still resolves would wait for the resolver's thread.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_CONNECTTIMEOUT_MS, timeout.milliseconds)
    set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(share: share)
    if let authorities = configuration.authorities {
      trust(authorities)
    } else if SystemAuthorities.areInDirectory {
      set(CURLOPT_CAINFO, nil)
    }
    if let proxy = configuration.proxy { set(CURLOPT_PROXY, proxy) }
    // What is meant for this device must not travel to a proxy.
    if address.isLoopback { set(CURLOPT_NOPROXY, "*") }
  }

  /// A dial that ends with a connected stream on which HTTP/1.1 will be spoken.
  func prepareDial(
    _ address: Address, _ configuration: CurlConfiguration, share: Share, timeout: Duration
  ) {
    prepare(address, configuration, share: share, timeout: timeout)
    set(CURLOPT_URL, address.origin)
    set(CURLOPT_CONNECT_ONLY, 1)
    // One read takes no more than this, and libcurl frees a buffer of its own of this size.
    set(CURLOPT_BUFFERSIZE, Buffer.size)
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    set(CURLOPT_HTTPPROXYTUNNEL, 1)
  }

  /// The system's directory of authorities stays; the file takes the place of the system's file,
  /// which holds the same ones. Where no directory serves, both files go in together.
  private func trust(_ file: String) {
    if SystemAuthorities.areInDirectory {
      set(CURLOPT_CAINFO, file)
    } else {
      let system = SystemAuthorities.file.map(contents) ?? []
      set(blob: CURLOPT_CAINFO_BLOB, system + contents(of: file))
    }
  }

  private func contents(of path: String) -> [UInt8] {
    guard let file = unsafe fopen(path, "r") else { return [] }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = unsafe fread(&chunk, 1, chunk.count, file), count > 0 {
      bytes += chunk[..<count]
    }
    return bytes + [UInt8(ascii: "\n")]
  }

  /// How far a dial came.
  var dialPhase: LinkFailure.Phase {
    if !reached(CURLINFO_NAMELOOKUP_TIME_T) { return .resolve }
    return hasPeer ? .tls : .connect
  }

  /// How far an exchange came; a reused connection begins at the request.
  var exchangePhase: LinkFailure.Phase {
    reached(CURLINFO_PRETRANSFER_TIME_T) ? .response : dialPhase
  }
}

extension Duration {
  /// Whole milliseconds, at least one: to libcurl zero means without end.
  var milliseconds: Int { max(1, Int(nanoseconds / 1_000_000)) }
}
