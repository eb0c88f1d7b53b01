import CHoldfastPostgreSQL
package import HoldfastCore

/// The servers and the database of a URL such as `postgres://user@host1,host2:5433/name`.
package struct DatabaseSettings: Sendable, Hashable {
  /// The options of one host, by libpq's keywords.
  struct Host: Sendable, Hashable {
    var options: [String: String]

    /// The host and the port, for messages.
    var name: String {
      let host = options["host"] ?? options["hostaddr"] ?? "the local socket"
      return options["port"].map { "\(host):\($0)" } ?? host
    }
  }

  /// The hosts, each of which may be the primary.
  let hosts: [Host]

  /// Settings of the planner: each access has an index, and a plan for a full table would be wrong
  /// for an empty one. A node that is frozen within a transaction must not keep its locks.
  private static let session = [
    "idle_in_transaction_session_timeout=10s",
    "enable_seqscan=off", "enable_bitmapscan=off", "enable_sort=off", "enable_hashjoin=off",
    "enable_mergejoin=off", "jit=off",
    "plan_cache_mode=force_generic_plan", "bytea_output=hex",
  ].map { "-c \($0)" }.joined(separator: " ")

  /// Reads a URL.
  ///
  /// - Throws: `.denied` if it is no such URL, or contains a password.
  package init(_ url: String) throws(StoreFailure) {
    guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://") else {
      throw .denied(
        detail: "The database must be a URL such as postgres://user@host1,host2/database.")
    }
    var options = try Self.parse(url)
    guard options["password"] == nil, options["sslpassword"] == nil else {
      throw .denied(
        detail:
          "The database's URL contains a password, which other users of this machine can see. "
          + "Set PGPASSWORD in the environment, or write the password to a file with mode 0600 "
          + "and name the file with PGPASSFILE or ?passfile=PATH.")
    }
    options["options"] = [options["options"], Self.session].compactMap(\.self)
      .joined(separator: " ")
    options["target_session_attrs"] = nil
    options["client_encoding"] = "UTF8"
    hosts = try Self.hosts(of: options)
  }

  private static func parse(_ url: String) throws(StoreFailure) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard let parsed = unsafe PQconninfoParse(url, &message) else {
      // libpq repeats parts of the URL in its message, which may contain a password.
      unsafe PQfreemem(message)
      throw .denied(
        detail: "The database's URL cannot be read. Write it as "
          + "postgres://user@host1,host2:port/database, with special characters as %XX.")
    }
    defer { unsafe PQconninfoFree(parsed) }
    var options: [String: String] = [:]
    var option = unsafe parsed
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        unsafe options[String(cString: keyword)] = String(cString: value)
      }
      unsafe option += 1
    }
    return options
  }

  /// Returns the options of each host. A list of ports has one port for all hosts, or one for each.
  private static func hosts(of options: [String: String]) throws(StoreFailure) -> [Host] {
    func list(_ keyword: String) -> [String] {
      options[keyword].map {
        $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      } ?? []
    }
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
    let count = max(names.count, addresses.count, 1)
    guard [names, addresses].allSatisfy({ $0.isEmpty || $0.count == count }),
      ports.count <= 1 || ports.count == count
    else {
      throw .denied(detail: "The database's URL must have one port for all hosts, or one for each.")
    }
    return (0..<count).map { index in
      var own = options
      own["host"] = names.isEmpty ? nil : names[index]
      own["hostaddr"] = addresses.isEmpty ? nil : addresses[index]
      let port = ports.count > 1 ? ports[index] : ports.first
      own["port"] = port == "" ? nil : port
      return Host(options: own)
    }
  }
}
