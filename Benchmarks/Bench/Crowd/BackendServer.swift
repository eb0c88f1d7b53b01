import Foundation
import HoldfastServerSockets
import HoldfastTestKit

/// A server that receives messages over HTTP or NATS and sends them to all connected clients.
struct BackendServer: Sendable {
  enum Kind: String, CaseIterable {
    case holdfast, nchan, nats

    var title: String {
      switch self {
      case .holdfast: "holdfast, synced before it answers"
      case .nchan: "nginx with nchan, in memory only"
      case .nats: "NATS JetStream, synced every 2 minutes"
      }
    }
  }

  let process: LabProcess
  let port: UInt16
  /// The options that the load generator needs for this server.
  let options: [String]
  private let scratch: Scratch

  var usage: ProcessUsage { ProcessUsage(process: process.identifier) }

  /// Starts a server that pings each socket at an interval of `seconds`.
  static func start(_ kind: Kind, pinging seconds: Int) async throws -> BackendServer {
    let scratch = try Scratch()
    return switch kind {
    case .holdfast: try await startHoldfast(scratch, seconds)
    case .nchan: try await startNchan(scratch, seconds)
    case .nats: try await startNATS(scratch, seconds)
    }
  }

  func end() async {
    // nginx stops its workers when it is terminated, but not when it is killed.
    process.signal(SIGTERM)
    _ = await process.exit()
  }

  private static func startHoldfast(
    _ scratch: Scratch, _ seconds: Int
  ) async throws -> BackendServer {
    let process = try Peer.ours("shop-server").start(
      ["--data", scratch("data"), "--ping-interval", "\(seconds)s"])
    var lines = process.lines.makeAsyncIterator()
    guard let url = await lines.next(), let token = await lines.next(),
      let port = url.split(separator: ":").last.flatMap({ UInt16($0) })
    else { throw Unavailable(await process.diagnostics.reduce("it did not start") { $1 }) }
    return BackendServer(
      process: process, port: port,
      options: [
        "--path", "/api/v1/auth/shops/bench/messages/stream", "--post",
        "/api/v1/auth/shops/messages", "--json", "--header", "Authorization: Bearer \(token)",
      ], scratch: scratch)
  }

  private static func startNchan(
    _ scratch: Scratch, _ seconds: Int
  ) async throws -> BackendServer {
    let module = "/usr/lib/nginx/modules/ngx_nchan_module.so"
    guard FileManager.default.fileExists(atPath: module) else {
      throw Unavailable("Debian's libnginx-mod-nchan is not installed")
    }
    let port = try freePort()
    try scratch.write(nginx(module, port, scratch, seconds).utf8, to: "nginx.conf")
    let process = try Peer(["nginx"]).start(["-c", scratch("nginx.conf"), "-p", scratch.path])
    try await listening(port, process)
    return BackendServer(
      process: process, port: port, options: ["--path", "/listen", "--post", "/post"],
      scratch: scratch)
  }

  private static func nginx(
    _ module: String, _ port: UInt16, _ scratch: Scratch, _ seconds: Int
  ) -> String {
    """
    daemon off;
    user root;
    worker_processes 1;
    worker_rlimit_nofile 1000000;
    pid \(scratch("nginx.pid"));
    error_log \(scratch("error.log"));
    load_module \(module);
    events { worker_connections 1000000; }
    http {
      access_log off;
      client_body_temp_path \(scratch("body"));
      keepalive_requests 100000000;
      nchan_max_reserved_memory 1024M;
      server {
        listen 127.0.0.1:\(port) backlog=4096;
        location /listen {
          nchan_subscriber websocket;
          nchan_channel_id bench;
          nchan_subscriber_first_message newest;
          nchan_websocket_ping_interval \(seconds);
        }
        location /post {
          nchan_publisher http;
          nchan_channel_id bench;
        }
      }
    }
    """
  }

  private static func startNATS(
    _ scratch: Scratch, _ seconds: Int
  ) async throws -> BackendServer {
    try requireNATS()
    let (port, socketPort) = (try freePort(), try freePort())
    let text = """
      listen: "127.0.0.1:\(port)"
      websocket { listen: "127.0.0.1:\(socketPort)", no_tls: true }
      jetstream { store_dir: "\(scratch("nats"))" }
      ping_interval: "\(seconds)s"
      max_connections: 1000000
      """
    try scratch.write(text.utf8, to: "nats.conf")
    let limit = "ulimit -n 1000000 2>&- || ulimit -n $(ulimit -Hn)"
    let process = try Peer(["sh", "-c", "\(limit); exec \"$@\"", "sh", natsServer]).start(
      ["-c", scratch("nats.conf")])
    try await listening(socketPort, process)
    try await Shell.run(["/usr/bin/python3", "Benchmarks/peers/nats_stream.py", "\(port)"])
    return BackendServer(
      process: process, port: socketPort, options: ["--nats"], scratch: scratch)
  }

  private static let natsServer = "/usr/sbin/nats-server"

  /// Throws if there is no server of NATS.
  static func requireNATS() throws {
    guard FileManager.default.isExecutableFile(atPath: natsServer) else {
      throw Unavailable("Debian's nats-server is not installed")
    }
  }

  private static func freePort() throws -> UInt16 {
    // The port is released at once. No other code in this process requests ports in the meantime.
    let bound = try BoundPort(SocketServerConfiguration())
    return bound.number
  }

  private static func listening(_ port: UInt16, _ process: LabProcess) async throws {
    for _ in 0..<100 {
      if (try? await Shell.run(["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/\(port)"])) != nil {
        return
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    process.signal(SIGKILL)
    throw Unavailable(await process.diagnostics.reduce("nothing is listening on its port") { $1 })
  }
}
