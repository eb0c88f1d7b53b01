import Foundation
import HoldfastTestKit
import Testing

/// The real client in a phone's namespace, the real backend behind two uplinks.
actor HandoverRig {
  /// Waits that stand for the real ones: silence for 90 s, settling for 2 s, retries for 0 to 16 s.
  static let settings = [
    "liveness.silence=3s", "gate.settle=500ms", "retry.first=200ms,400ms,800ms,1600ms",
    "retry.reconnect=0s,200ms,400ms,800ms,1600ms", "retry.windows=100/1m", "retry.spread=500ms",
    "standby.interval=1s", "standby.probe=2s", "establish.timeout=2s", "establish.prepare=3s",
  ]
  /// What the policy above allows from the end of a trouble to a whole timeline: the rest of a
  /// silence (3 s), settling (0.5 s), the retry waits (3 s) with their time-outs (5 · 2 s), or a
  /// poll with its probe (1.1 + 2 s), and a catch-up.
  static let bound = Duration.seconds(20)

  private let lab: NetworkLab
  private let directory: String
  private let server: LabProcess
  private let phone: LabProcess
  private let url: String
  private let writerToken: String
  private var sent = 0
  private(set) var shown: [String] = []
  private(set) var statuses: [(status: String, reason: String)] = []
  private var waiting: [(() -> Bool, CheckedContinuation<Void, Never>)] = []

  static let shop = "550e8400-e29b-41d4-a716-446655440000"

  init(in lab: NetworkLab, directory: String) async throws {
    self.lab = lab
    self.directory = directory
    let data = directory + "/server"
    let holdfast = CommandProcess.path
    server = try await lab.spawn(
      in: .net,
      [
        holdfast, "serve", "--json", "--host", NetworkLab.serverAddress, "--port", "8787",
        "--data", data, "--ping-interval", "1s",
      ])
    var listening: String?
    for await line in server.lines {
      listening = line
      break
    }
    url = try #require(try [String: Any].reading(listening)["url"] as? String)
    let mine = try await CommandProcess.run(
      "token", "--user", "phone", "--shops", Self.shop, "--data", data)
    let others = try await CommandProcess.run(
      "token", "--user", "writer", "--shops", Self.shop, "--data", data)
    writerToken = try #require(others.output.first)
    let settings = Self.settings.flatMap { ["--set", $0] }
    phone = try await lab.spawn(
      in: .phone,
      [
        holdfast, "stream", "--json", "--server", url, "--allow-plaintext", "--shop", Self.shop,
        "--data", directory + "/phone",
      ] + settings,
      environment: ["HOLDFAST_TOKEN": try #require(mine.output.first)])
    let lines = phone.lines
    Task { [self] in
      for await line in lines { hear(line) }
    }
  }

  /// Returns when the phone follows the shop.
  func begins() async {
    await until { self.statuses.last?.status == "CONNECTED" }
  }

  /// Another user posts beside the server, where nothing is broken.
  func post(_ count: Int = 1) async throws {
    for _ in 0..<count {
      sent += 1
      let body = #"{"shop_id":"\#(Self.shop)","message":"\#(sent)"}"#
      let script = """
        import sys, urllib.request
        urllib.request.urlopen(urllib.request.Request("\(url)/api/v1/auth/shops/messages",
          data=sys.stdin.buffer.read(), headers={"Authorization": "Bearer \(writerToken)",
          "Content-Type": "application/json"}), timeout=10).read()
        """
      try await lab.run(in: .net, "python3", "-c", script, input: body)
    }
  }

  /// Returns when the phone has shown everything, each once and in order, and is live again.
  func becomesWhole() async throws -> Duration {
    let start = ContinuousClock.now
    let all = (1...sent).map(String.init)
    await until {
      self.shown.count >= self.sent && self.statuses.last?.status == "CONNECTED"
    }
    #expect(shown == all)
    return ContinuousClock.now - start
  }

  func until(_ condition: @escaping () -> Bool) async {
    if condition() { return }
    await withCheckedContinuation { waiting.append((condition, $0)) }
  }

  /// Breaks something, and returns when the phone says that it is not connected any more.
  func notices(_ trouble: @Sendable () async throws -> Void) async throws {
    let known = statuses.count
    try await trouble()
    await until { self.statuses.dropFirst(known).contains { $0.status != "CONNECTED" } }
  }

  func end() async {
    phone.signal(SIGTERM)
    _ = await phone.exit()
    server.signal(SIGKILL)
    _ = await server.exit()
  }

  private func hear(_ line: String) {
    guard let event = try? [String: Any].reading(line) else { return }
    switch event["event"] as? String {
    case "message": shown.append(event["text"] as? String ?? "")
    case "status":
      statuses.append((event["status"] as? String ?? "", event["reason"] as? String ?? ""))
    case _: return
    }
    let ready = waiting.filter { $0.0() }
    waiting.removeAll { $0.0() }
    for (_, continuation) in ready { continuation.resume() }
  }
}
