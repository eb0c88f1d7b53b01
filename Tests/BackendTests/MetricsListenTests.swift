import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastPorts
import HoldfastRelayServer
import HoldfastSessionServer
import HoldfastSyncServer
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of the metrics and of what operators ask a running backend.
@Suite(.timeLimit(.minutes(60))) struct MetricsListenTests {
  /// Returns the port in `http://127.0.0.1:PORT/metrics`.
  private static func port(_ url: String?) throws -> UInt16 {
    let start = "http://127.0.0.1:"
    let url = try #require(url)
    #expect(url.hasPrefix(start) && url.hasSuffix("/metrics"))
    return try #require(UInt16(url.dropFirst(start.count).dropLast("/metrics".count)))
  }

  @Test func `an address for metrics has metrics and probes alone, and metrics are only there`()
    async throws
  {
    try await BackendRig.run {
      $0.metricsAddress = "127.0.0.1:0"
    } _: { rig in
      let client = try rig.client()
      #expect(try await client.ask("GET", "/metrics").status == 404)
      let operators = try BackendClient(port: try Self.port(rig.address.metrics))
      let page = try await operators.ask("GET", "/metrics")
      #expect(page.status == 200)
      #expect(page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
      for path in ["/livez", "/readyz", "/healthz"] {
        for each in [client, operators] {
          #expect(try await each.ask("GET", path).body == #"{"status":"ok"}"#)
          #expect(try await each.ask("POST", path).status == 405)
        }
      }
      for path in ["/", "/mcp", "/api/v1/health/websocket", "/relay/health", "/health", "/nowhere"]
      {
        #expect(try await operators.ask("GET", path).status == 404)
      }
      #expect(try await operators.upgrade("/ws/phone").status == 404)
      let upload = try await BackendClient(port: try Self.port(rig.address.metrics)).ask(
        "POST", SyncPath.upload.rawValue, fields: ["Expect: 100-continue"], body: "")
      #expect(upload.status == 404)
      #expect(try await client.ask("GET", "/").status == 200)
    }
  }

  @Test func `without such an address, metrics are at the address for clients`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      #expect(rig.address.metrics == nil)
      for path in ["/metrics", "/livez", "/readyz", "/healthz"] {
        #expect(try await client.ask("GET", path).status == 200)
      }
    }
  }

  @Test func `serves metrics at a socket that only the user may open, and removes it at the end`()
    async throws
  {
    let scratch = try Scratch()
    let path = scratch("metrics.sock")
    try await BackendRig.run {
      $0.metricsAddress = "unix:\(path)"
    } _: { rig in
      #expect(rig.address.metrics == "unix:\(path)")
      let answers = try await Shell.run(
        [
          "python3", "-c",
          """
          import http.client, os, socket, stat
          for path in "/metrics", "/readyz", "/":
            client = http.client.HTTPConnection("localhost")
            client.sock = socket.socket(socket.AF_UNIX)
            client.sock.connect("\(path)")
            client.request("GET", path)
            print(client.getresponse().status)
          print(oct(stat.S_IMODE(os.stat("\(path)").st_mode)))
          """,
        ])
      #expect(answers == "200\n200\n404\n0o600\n")
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `a file that is no socket stays, and the start fails`() async throws {
    let scratch = try Scratch()
    for name in ["file", "link"] {
      try scratch.write(Array("keep".utf8), to: "file")
      let path = scratch(name)
      if name == "link" {
        try FileManager.default.createSymbolicLink(
          atPath: path, withDestinationPath: scratch("file"))
      }
      var configuration = BackendConfiguration(dataDirectory: scratch("data"))
      configuration.port = 0
      configuration.metricsAddress = "unix:\(path)"
      let backend = Backend(configuration)
      await #expect(throws: BackendError.self) { _ = try await backend.start() }
      #expect(try scratch.text(of: "file") == "keep")
    }
  }

  @Test(arguments: [
    ("127.0.0.1:9090", true), ("0.0.0.0:1", true), ("[::1]:0", true), ("unix:/run/a.sock", true),
    ("unix:a", true), ("", false), ("unix:", false), ("unix:/run/", false),
    ("unix:/a\0b", false),
    ("localhost:9090", false),
    ("127.0.0.1", false), ("127.0.0.1:65536", false), ("127.0.0.1:-1", false), ("::1:9090", false),
    ("239.0.0.1:9090", false), ("9090", false),
  ])
  func `an address for operators is numeric, or a path`(text: String, isValid: Bool) {
    #expect(BackendConfiguration.isOperatorAddress(text) == isValid)
  }

  @Test func `is alive but not ready while it drains`() async throws {
    try await BackendRig.run {
      $0.policy.drainGrace = .seconds(2)
      ($0.policy.closeWait, $0.policy.drainLimit) = (.seconds(3_600), .seconds(3_600))
    } _: { rig in
      let follower = try await rig.follower()
      let client = try rig.client()
      #expect(try await client.ask("GET", "/readyz").status == 200)
      async let drained: Void = rig.backend.drainAndStop()
      #expect(try await follower.message() == .draining(within: .seconds(5)))
      let ready = try await client.ask("GET", "/readyz")
      #expect(ready.status == 503)
      #expect(ready.body == #"{"status":"draining"}"#)
      #expect(try await client.ask("GET", "/livez").status == 200)
      #expect(try await client.ask("GET", "/metrics").body.contains("\nholdfast_ready 0\n"))
      _ = try await follower.close()
      try await follower.answerClose(1001)
      await drained
    }
  }

  @Test func `is not ready while a store fails, and is again once it works`() async throws {
    let log = MemoryMessageLog()
    try await BackendRig.run(store: log) { rig in
      let client = try rig.client()
      await log.failNext(1, with: .full(detail: "/srv/secret.sqlite"))
      let full = try await client.ask("GET", "/readyz")
      #expect(full.status == 503)
      #expect(full.body == #"{"status":"failing","reason":"the disk of the store is full"}"#)
      #expect(try await client.ask("GET", "/readyz").status == 200)
    }
  }

  @Test func `tells the process, its databases and commits`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      #expect(try await client.post("hello", token: try await rig.token()).status == 201)
      let page = try await client.ask("GET", "/metrics").body
      let lines = page.split(separator: "\n").map(String.init)
      func value(_ name: String) -> Double? {
        lines.first { $0.hasPrefix(name + " ") }.flatMap { Double($0.dropFirst(name.count + 1)) }
      }
      let now = Date().timeIntervalSince1970
      #expect(try #require(value("process_start_time_seconds")) <= now)
      #expect(try #require(value("process_start_time_seconds")) > now - 86_400 * 7)
      #expect(try #require(value("process_cpu_seconds_total")) > 0)
      #expect(try #require(value("process_resident_memory_bytes")) > 1_000_000)
      let open = try #require(value("process_open_fds"))
      #expect(open > 8)
      #expect(open <= (try #require(value("process_max_fds"))))
      for name in ["messages", "relay", "session", "sync"] {
        for file in ["main", "wal"] {
          let row = #"holdfast_database_bytes{database="\#(name)",file="\#(file)"}"#
          #expect(try #require(value(row)) >= 0)
        }
      }
      let free = try #require(value(#"holdfast_disk_free_bytes{disk="data"}"#))
      #expect(free > 0)
      #expect(free <= (try #require(value(#"holdfast_disk_size_bytes{disk="data"}"#))))
      #expect(value(#"holdfast_store_commit_seconds_count{service="shop"}"#) == 1)
      #expect(value(#"holdfast_request_seconds_count{route="send"}"#) == 1)
      #expect(value(#"holdfast_requests_total{route="send",status="201"}"#) == 1)
      #expect(page.contains(#"holdfast_build_info{version=""#))
    }
  }

  @Test func `no name of a shop or a user is in metrics`() async throws {
    try await BackendRig.run { rig in
      let (client, token) = (try rig.client(), try await rig.token("elizabeth"))
      _ = try await client.post("hello", token: token)
      _ = try await client.ask("GET", ShopRoute.all(BackendRig.shop).path, token: token)
      _ = try await client.ask("GET", "/api/v1/auth/shops/\(BackendRig.shop.text)/elizabeth")
      let page = try await client.ask("GET", "/metrics").body
      #expect(!page.contains("elizabeth") && !page.contains(BackendRig.shop.text))
    }
  }

  @Test(
    .enabled(if: Shell.find("promtool") != nil, "prometheus is not installed"))
  func `promtool finds nothing wrong in the metrics`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      _ = try await client.post("hello", token: try await rig.token())
      let scratch = try Scratch()
      try await client.ask("GET", "/metrics").body.write(
        toFile: scratch("page"), atomically: true, encoding: .utf8)
      let said = try await Shell.run(["sh", "-c", "promtool check metrics < \(scratch("page"))"])
      #expect(said == "")
    }
  }

  @Test(arguments: [(63, false, false), (64, true, true), (65, true, true)])
  func `does not start with fewer than 64 descriptors`(
    limit: UInt64, starts: Bool, warns: Bool
  ) async throws {
    let (scratch, lines) = (try Scratch(), LineLog())
    var configuration = BackendConfiguration(dataDirectory: scratch("data"))
    configuration.descriptorLimit = limit
    configuration.log = { lines.append($0) }
    let backend = Backend(configuration)
    if starts {
      _ = try await backend.start()
    } else {
      await #expect(throws: BackendError.descriptors(limit: 63, least: 64)) {
        _ = try await backend.start()
      }
      #expect(!FileManager.default.fileExists(atPath: scratch("data")))
    }
    await backend.kill()
    #expect(lines.all.contains { $0.contains(#""event":"few_descriptors""#) } == warns)
  }

  @Test(arguments: [(-1, true), (0, false), (1, false)])
  func `warns if the ceilings need more descriptors than there are`(
    more: Int, warns: Bool
  ) async throws {
    let (scratch, lines) = (try Scratch(), LineLog())
    var configuration = BackendConfiguration(dataDirectory: scratch("data"))
    (configuration.policy.maxConnections, configuration.relay.maxSockets) = (300, 200)
    configuration.session.maxSockets = 100
    let need = 300 + configuration.policy.maxRequests + 200 + 101 + 256
    configuration.descriptorLimit = UInt64(need + more)
    configuration.log = { lines.append($0) }
    let backend = Backend(configuration)
    _ = try await backend.start()
    await backend.kill()
    let detail =
      #""event":"few_descriptors","detail":"the limit is \#(need + more), and the ceilings need "#
      + "\(need)\""
    #expect(lines.all.contains { $0.contains(detail) } == warns)
  }
}
