import Foundation
import HoldfastCore
import HoldfastTestKit
import Testing

/// The real client in the network namespace of a phone, and the real backend behind two uplinks.
actor HandoverRig {
  /// The settings with which the policy waits for shorter times.
  ///
  /// By default, the silence time-out is 90 s, the debounce 2 s, and retries follow after 0 to 16
  /// s.
  static let settings = [
    "liveness.silence=3s", "gate.debounce=500ms", "retry.first=200ms,400ms,800ms,1600ms",
    "retry.reconnect=0s,200ms,400ms,800ms,1600ms", "retry.windows=100/1m",
    "retry.serverJitter=500ms",
    "standby.interval=1s", "standby.probe=2s", "establish.timeout=2s", "establish.prepare=3s",
  ]

  /// Returns the message stream policy with these settings.
  static func policy() throws -> LinkPolicy {
    try LinkPolicy.messageStream.setting(
      settings.map {
        let parts = $0.split(separator: "=", maxSplits: 1).map(String.init)
        return (key: parts[0], value: parts[1])
      })
  }

  private let lab: NetworkLab
  private let directory: String
  private let server: LabProcess
  private let phone: LabProcess
  private let url: String
  private let writerToken: String
  private var sent = 0
  private var received: [(createdAt: String, text: String)] = []
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
      for await line in lines { receive(line) }
    }
  }

  /// Waits until the phone is connected to the shop.
  func begins() async {
    await until { self.statuses.last?.status == "CONNECTED" }
  }

  /// Posts messages as another user, from the server's namespace, where no fault occurs.
  func post(_ count: Int = 1) async throws {
    let bodies = (sent + 1...sent + count).map {
      #"{"shop_id":"\#(Self.shop)","message":"\#($0)"}"#
    }
    sent += count
    let script = """
      import sys, urllib.request
      for body in sys.stdin.buffer:
        urllib.request.urlopen(urllib.request.Request("\(url)/api/v1/auth/shops/messages",
          data=body.strip(), headers={"Authorization": "Bearer \(writerToken)",
          "Content-Type": "application/json"}), timeout=600).read()
      """
    try await lab.run(
      in: .net, "python3", "-c", script, input: bodies.joined(separator: "\n"))
  }

  /// The texts in the order in which a screen shows them. Live messages that arrived during a fetch
  /// follow the fetched messages.
  var shown: [String] {
    received.sorted { $0.createdAt.dropLast() < $1.createdAt.dropLast() }.map(\.text)
  }

  /// Waits until the phone has received all messages and is connected again.
  ///
  /// The method then checks that each message was received once, and that `shown` is in order.
  func becomesWhole() async {
    let all = (1...sent).map(String.init)
    await until {
      self.shown.count >= self.sent && self.statuses.last?.status == "CONNECTED"
    }
    #expect(shown == all)
  }

  func until(_ condition: @escaping () -> Bool) async {
    if condition() { return }
    await withCheckedContinuation { waiting.append((condition, $0)) }
  }

  /// Causes a fault, posts messages, ends the fault if `end` is given, and checks the times.
  ///
  /// Each measurement includes the time that the tools take to cause or end the fault.
  func meets(
    _ trouble: HandoverTrouble, _ begin: @Sendable () async throws -> Void,
    until end: (@Sendable () async throws -> Void)? = nil
  ) async throws {
    let bounds = trouble.bounds(try Self.policy())
    let known = statuses.count
    var start = ContinuousClock.now
    try await begin()
    // The phone detects these two faults only by silence, so some messages must be lost.
    if trouble == .natForgotten || trouble == .blackHole { try await post(3) }
    await until { self.statuses.dropFirst(known).contains { $0.status != "CONNECTED" } }
    let noticed = ContinuousClock.now - start
    if trouble != .natForgotten && trouble != .blackHole { try await post(3) }
    if let end {
      start = .now
      try await end()
    }
    await becomesWhole()
    let whole = ContinuousClock.now - start
    print(
      "\(trouble.rawValue): noticed after \(noticed) (at most \(bounds.noticed)),",
      "whole after \(whole) (at most \(bounds.whole))")
    #expect(noticed <= bounds.noticed, "\(trouble.rawValue) was noticed late")
    #expect(whole <= bounds.whole, "\(trouble.rawValue) took too long to recover from")
  }

  func end() async {
    phone.signal(SIGTERM)
    _ = await phone.exit()
    server.signal(SIGKILL)
    _ = await server.exit()
  }

  private func receive(_ line: String) {
    guard let event = try? [String: Any].reading(line) else { return }
    switch event["event"] as? String {
    case "message":
      received.append((event["createdAt"] as? String ?? "", event["text"] as? String ?? ""))
    case "status":
      statuses.append((event["status"] as? String ?? "", event["reason"] as? String ?? ""))
    case _: return
    }
    let ready = waiting.takeAll { $0.0() }
    for (_, continuation) in ready { continuation.resume() }
  }
}
