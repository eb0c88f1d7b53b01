import Foundation
import Glibc
import HoldfastCore
import HoldfastPorts
import HoldfastRigs
import HoldfastTestKit
import Testing

/// An nginx process that forwards connections of a held socket to its server.
final class Nginx: Sendable {
  private static let path = "/usr/sbin/nginx"
  static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

  let port: UInt16
  private let process: LabProcess

  /// Starts nginx. It closes a connection on which nothing arrives for the duration `idle`.
  ///
  /// - Parameter port: The port to listen on.
  init(_ upstream: UInt16, idle: String, port: UInt16, in directory: String) throws {
    self.port = port
    let text = """
      daemon off; master_process off; worker_processes 1; pid \(directory)/pid;
      error_log stderr;
      events { worker_connections 64; }
      http {
        access_log off;
        client_body_temp_path \(directory)/a; proxy_temp_path \(directory)/b;
        fastcgi_temp_path \(directory)/c; uwsgi_temp_path \(directory)/d;
        scgi_temp_path \(directory)/e;
        server {
          listen 127.0.0.1:\(port);
          location / {
            proxy_pass http://127.0.0.1:\(upstream);
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
            proxy_read_timeout \(idle);
          }
        }
      }
      """
    let file = directory + "/nginx-\(port).conf"
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    process = try LabProcess([Self.path, "-c", file])
  }

  func stop() async {
    process.signal(SIGKILL)
    _ = await process.exit()
  }
}

@Suite(
  .enabled(if: Nginx.isInstalled, "needs nginx: run scripts/setup as root"),
  .timeLimit(.minutes(60)))
struct NginxTests {
  @Test func `an idle time-out of nginx is a loss, and pings prevent it`() async throws {
    let plan = [PlanEntry(send: [.text("one")]), PlanEntry(send: [.text("two")])]
    try await behindNginx(plan, idle: "15s") { url, _, _ in
      let cut = try SocketRun(url, ["--set", "liveness.ping=off", "--set", "liveness.silence=1m"])
      #expect(try await cut.texts(2) == ["one", "two"])
      #expect(await cut.interrupt() == 0)
      let held = try SocketRun(url, ["--set", "liveness.ping=1s", "--send-stdin"])
      #expect(try await held.texts(1) == ["two"])
      // Wait longer than the idle time-out of nginx.
      let clock = BootClock()
      try await clock.wait(until: clock.now.advanced(by: .seconds(20)))
      held.process.send("still")
      #expect(try await held.texts(1) == ["still"])
      #expect(await held.interrupt() == 0)
    }
  }

  @Test func `reconnects after nginx restarts, and after its 502`() async throws {
    let plan = [PlanEntry(send: [.text("one")]), PlanEntry(send: [.text("two")])]
    try await behindNginx(plan, idle: "60s") { url, server, restart in
      let run = try SocketRun(url)
      #expect(try await run.texts(1) == ["one"])
      try await restart()
      #expect(try await run.texts(1) == ["two"])
      await server.stop()
      let reason = try await run.next { $0["reason"] as? String == "http-502" ? "http-502" : nil }
      #expect(reason == "http-502")
      #expect(await run.interrupt() == 0)
    }
  }

  private func behindNginx(
    _ plan: [PlanEntry], idle: String,
    _ body: (String, PeerServer, () async throws -> Void) async throws -> Void
  ) async throws {
    try await CommandProcess.scratch { directory in
      try await PeerServer.run(.holdfast, plan) { server in
        let port = TestPort.random()
        var nginx = try Nginx(server.port, idle: idle, port: port, in: directory)
        try await body("ws://127.0.0.1:\(port)/feed", server) {
          await nginx.stop()
          nginx = try Nginx(server.port, idle: idle, port: port, in: directory)
        }
        await nginx.stop()
      }
    }
  }
}
