import HoldfastOwnerFiles
import HoldfastTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A haproxy in front of the nodes.
actor Balancer {
  /// A node, as the configuration names it.
  typealias Node = (name: String, address: String)

  nonisolated let port: UInt16
  private let file: String
  private let nodes: [Node]
  private var process: LabProcess?

  /// Creates a balancer that does not run.
  ///
  /// - Parameter file: The path for its configuration.
  init(port: UInt16, file: String, nodes: [Node]) {
    (self.port, self.file, self.nodes) = (port, file, nodes)
  }

  nonisolated var url: String { "http://127.0.0.1:\(port)" }

  func start() throws(DemoFailure) {
    let text = Self.configuration(listening: "127.0.0.1:\(port)", nodes: nodes)
    try DemoEnvironment.checked { () throws(OwnerFileError) in
      try OwnerFile(file, maxBytes: 8_192, isSecret: false).replace(with: Array(text.utf8))
    }
    process = try? LabProcess(["haproxy", "-db", "-f", file], endsWithParent: true)
    guard process != nil else { throw .setup("haproxy could not be started") }
  }

  func kill() async {
    process?.signal(SIGKILL)
    _ = await process?.exit()
    process = nil
  }

  /// Returns the configuration for nodes. An operator copies `packaging/cluster/haproxy.cfg`, which
  /// is the same.
  static func configuration(listening address: String, nodes: [Node]) -> String {
    let servers = nodes.map { "  server \($0.name) \($0.address)\n" }.joined()
    return """
      defaults
        mode http
        timeout connect 2s
        timeout client 75s
        timeout server 75s
        timeout tunnel 75s
        timeout check 2s
        option redispatch 1

      frontend holdfast
        bind \(address)
        option forwardfor
        default_backend nodes

      backend nodes
        balance leastconn
        option httpchk GET /readyz
        default-server check inter 1s fall 2 rise 1
      \(servers)
      """
  }
}
