import HoldfastTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Three servers of NATS, which form one cluster and carry the reports between the nodes.
struct BusServers: Sendable {
  private static let count: UInt16 = 3

  let servers: [BusServer]

  /// Creates servers that do not run. Returns `nil` if their program is not installed.
  ///
  /// - Parameter port: The first of six TCP ports.
  init?(from port: UInt16) {
    guard Shell.find(BusServer.program) != nil else { return nil }
    let ports = port..<port + Self.count
    let routes = ports.map { "nats://127.0.0.1:\($0 + Self.count)" }
    servers = zip(ports, routes).map { BusServer(port: $0, route: $1, routes: routes) }
  }

  /// The URLs of all servers.
  var url: String { servers.map { "nats://127.0.0.1:\($0.port)" }.joined(separator: ",") }

  func start() async throws(DemoFailure) {
    for server in servers { try await server.start() }
  }

  func kill() async {
    for server in servers { await server.kill() }
  }
}

/// A server of NATS.
actor BusServer {
  static let program = "nats-server"

  nonisolated let port: UInt16
  private let options: [String]
  private var process: LabProcess?

  /// Creates a server that does not run.
  ///
  /// - Parameters:
  ///   - route: The URL at which the other servers of the cluster reach this one.
  ///   - routes: The URLs of all servers.
  init(port: UInt16, route: String, routes: [String]) {
    self.port = port
    options = [
      "-a", "127.0.0.1", "-p", "\(port)", "--cluster_name", "holdfast", "--cluster", route,
      "--routes", routes.joined(separator: ","),
    ]
  }

  /// Starts the server. Returns once it accepts connections.
  func start() async throws(DemoFailure) {
    let process = try? LabProcess([Self.program] + options, endsWithParent: true)
    guard let process else { throw .setup("\(Self.program) could not be started") }
    self.process = process
    var complaint = ""
    for await line in process.diagnostics {
      if line.contains("Server is ready") { return }
      complaint = line
    }
    guard !Task.isCancelled else { throw .interrupted }
    throw .setup("\(Self.program) did not start: \(complaint)")
  }

  func kill() async {
    process?.signal(SIGKILL)
    _ = await process?.exit()
    process = nil
  }
}
