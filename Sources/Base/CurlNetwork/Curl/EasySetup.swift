import CHoldfastCurl
import HoldfastCore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension Easy {
  /// Sets the options of all transfers: trust, proxies, sharing. TLS verification is never
  /// weakened.
  func prepare(
    _ address: Address, _ configuration: CurlConfiguration, share: Share, timeout: Duration
  ) {
    set(CURLOPT_NOSIGNAL, 1)
    // Without this option, ending a transfer during name resolution would wait for the resolver's
    // thread.
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
    if let path = configuration.unixSocket { set(CURLOPT_UNIX_SOCKET_PATH, path) }
    if configuration.onlyPublicAddresses { refusePrivateAddresses() }
    // A request to this device must not be sent to a proxy.
    if address.isLoopback { set(CURLOPT_NOPROXY, "*") }
  }

  /// Sets the options of a dial, which results in a connected stream for HTTP/1.1.
  func prepareDial(
    _ address: Address, _ configuration: CurlConfiguration, share: Share, timeout: Duration
  ) {
    prepare(address, configuration, share: share, timeout: timeout)
    set(CURLOPT_URL, address.origin)
    set(CURLOPT_CONNECT_ONLY, 1)
    // A read returns at most this number of bytes. libcurl does not keep its own buffer of this
    // size.
    set(CURLOPT_BUFFERSIZE, Buffer.size)
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    set(CURLOPT_HTTPPROXYTUNNEL, 1)
  }

  /// Trusts the certificate authorities in a file, in addition to those of the system.
  ///
  /// The system's directory of authorities remains in use. The given file replaces the system's
  /// file, which contains the same authorities as the directory. If there is no directory, both
  /// files are concatenated.
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

  /// Refuses to open a socket to an address that is not public. The address is the one that the
  /// connection uses, so no answer of a name server can differ from what was checked.
  private func refusePrivateAddresses() {
    unsafe set(openSocket: { _, purpose, address in
      guard purpose == CURLSOCKTYPE_IPCXN, let address = unsafe address,
        unsafe NetworkAddress(address)?.isGlobal == true
      else { return CURL_SOCKET_BAD }
      let wanted = unsafe address.pointee
      return socket(
        wanted.family, wanted.socktype | Int32(bitPattern: SOCK_CLOEXEC.rawValue), wanted.protocol)
    })
  }

  /// The phase that a dial has reached.
  var dialPhase: LinkFailure.Phase {
    if !reached(CURLINFO_NAMELOOKUP_TIME_T) { return .resolve }
    return hasPeer ? .tls : .connect
  }

  /// The phases of a dial that have ended.
  var dialPhases: ConnectionNote.Opening {
    var opening = ConnectionNote.Opening()
    guard let resolved = time(CURLINFO_NAMELOOKUP_TIME_T) else { return opening }
    opening.resolve = resolved
    guard let connected = time(CURLINFO_CONNECT_TIME_T) else { return opening }
    opening.connect = max(connected - resolved, .zero)
    if let secured = time(CURLINFO_APPCONNECT_TIME_T) {
      opening.tls = max(secured - connected, .zero)
    }
    return opening
  }

  /// The phase that an exchange has reached. On a reused connection, the first phase is the
  /// request.
  var exchangePhase: LinkFailure.Phase {
    reached(CURLINFO_PRETRANSFER_TIME_T) ? .response : dialPhase
  }
}

extension NetworkAddress {
  /// Reads the address to which libcurl wants to connect. Returns `nil` if it is no IP address.
  fileprivate init?(_ address: UnsafeMutablePointer<curl_sockaddr>) {
    let (family, length) = unsafe (address.pointee.family, Int(address.pointee.addrlen))
    // libcurl reserves enough bytes after the last field for each family.
    guard let start = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    let bytes = unsafe Array(
      UnsafeRawBufferPointer(start: UnsafeRawPointer(address) + start, count: length))
    // The family and the port come first, and in IPv6 also the flow label.
    switch family {
    case AF_INET where length >= 8: self.init(bytes: Array(bytes[4..<8]))
    case AF_INET6 where length >= 24: self.init(bytes: Array(bytes[8..<24]))
    case _: return nil
    }
  }
}

extension Duration {
  /// The duration in whole milliseconds, at least 1 because libcurl interprets 0 as no limit.
  var milliseconds: Int { max(1, Int(nanoseconds / 1_000_000)) }
}
