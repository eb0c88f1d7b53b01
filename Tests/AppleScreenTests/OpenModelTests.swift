import Foundation
import Holdfast
import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastPorts
import HoldfastSession
import HoldfastSessionData
import HoldfastSyncData
import HoldfastTestKit
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of buttons that act on an open conversation, relay, sync or bottle.
@Suite(.timeLimit(.minutes(60))) @MainActor struct OpenModelTests {
  private let network = FakeNetwork(clock: BootClock())
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// Returns the first message on a socket for which a closure returns a value.
  private func next<Value>(
    on socket: FakeSocket, _ read: (SessionClientMessage) -> Value?
  ) async throws -> Value {
    while true {
      let text = Array(try await socket.nextText().utf8)
      if let value = read(try SessionClientMessage.read(text)) { return value }
    }
  }

  private func nextPrompt(on socket: FakeSocket) async throws -> SessionPrompt {
    try await next(on: socket) { if case .prompt(let prompt) = $0 { prompt } else { nil } }
  }

  @Test func `a question is asked again, and its answer is stopped`() async throws {
    let chat = try links(in: scratch, network).conversation()
    let shown = screen(ConversationView(chat))
    try await network.nextSocket().reject(status: 403)
    await shown.wait { chat.connection.phase == .off && chat.connection.failure != nil }
    shown.press("Try again")
    let socket = try await network.nextSocket().accepted()
    let features: Set<SessionFeature> = [.idempotency]
    let connected = SessionConnected(
      message: "", session: "s", version: .newest, features: features, isRecovered: nil)
    await socket.send(
      text: SessionServerMessage.hello(SessionHello(message: "hi", features: features)).bytes)
    await socket.send(text: SessionServerMessage.connected(connected).bytes)
    await shown.wait { chat.connection.phase == .live }
    shown.type("Which tests fail?")
    shown.press("Send")
    let prompt = try await nextPrompt(on: socket)
    let failure = SessionResponse(
      id: "answer", conversation: prompt.conversation, idempotencyKey: prompt.idempotencyKey,
      result: .failure(error: "tired"))
    await socket.send(text: SessionServerMessage.response(failure).bytes)
    await shown.wait { shown.buttons.contains { $0.name == "Send again" } }
    shown.press("Send again")
    let again = try await nextPrompt(on: socket)
    #expect(again.text == "Which tests fail?")
    let ack = SessionServerMessage.ack(message: "m", idempotencyKey: again.idempotencyKey)
    await socket.send(text: ack.bytes)
    await shown.wait { shown.buttons.contains { $0.name == "Stop the answer" } }
    shown.press("Stop the answer")
    let stopped = try await next(on: socket) {
      if case .killSession(let conversation) = $0 { conversation } else { nil }
    }
    #expect(stopped == chat.id)
    check(shown)
    await chat.close()
  }

  @Test func `a relay is connected, connected again, and forgotten`() async throws {
    let links = try links(in: scratch, network, secrets: MemorySecretStore())
    let relay = links.healthRelay()
    let shown = screen(PairingCard(relay))
    await shown.wait { relay.phase == .open }
    shown.press("Connect")
    try await network.nextSocket().reject(status: 403)
    await shown.wait { relay.connection.phase == .off && relay.connection.failure != nil }
    shown.press("Try again")
    _ = try await network.nextSocket()
    await shown.wait { relay.connection.phase == .connecting }
    try links.pairing.write(Secret("token"))
    shown.press("Forget pairing")
    shown.press("Forget")
    #expect(try links.pairing.read() == nil)
    await shown.wait { relay.connection.phase == .off }
    check(shown)
    await relay.close()
  }

  @Test func `a sync that waits is started by a button`() async throws {
    let steps = "HKQuantityTypeIdentifierStepCount"
    let time = Timestamp.sample(minute: 1)
    let source = FakeHealthSource()
    source.fail(.locked(detail: ""))
    source.add([
      SourceSample(
        uuid: UUID128(high: 0, low: 1),
        sample: HealthSample(
          type: steps, value: .quantity(7), unit: "count", start: time, end: time,
          source: "watch"))
    ])
    network.serve(requests: { _ in .success(HTTPAnswer(status: 400, headers: [:], body: [])) })
    let sync = try links(in: scratch, network).healthSync(source, types: [steps])
    let shown = screen(SyncCard(sync))
    await shown.wait { shown.lines.contains("Waiting until this device is unlocked.") }
    source.fail(nil)
    shown.press("Try again")
    await shown.wait { shown.lines.contains("The server did not accept 1 package.") }
    check(shown)
    await sync.close()
  }

  @Test func `the drinks of a bottle are fetched by a button`() async throws {
    let bottle = try links(in: scratch, network).bottle(NoRadio())
    let shown = screen(BottleCard(bottle))
    await shown.wait { bottle.status.adapter == .off }
    shown.press("Fetch drinks")
    #expect(shown.lines.contains("(Fetch drinks)"))
    await shown.wait { shown.lines.count { $0 == "Bluetooth is off." } == 2 }
    #expect(shown.lines.contains("[Fetch drinks]"))
    check(shown)
    await bottle.close()
  }
}

/// A radio that is switched off.
private struct NoRadio: Central {
  func events(_ deliver: @escaping @Sendable (CentralEvent) -> Void) {
    deliver(.adapter(.off))
  }
  func scan(for services: [GATTID]) {}
  func stopScan() {}
  func connect(_ id: PeripheralID, attempt: AttemptID, isQueued: Bool, after rest: Duration) {}
  func cancel(_ attempt: AttemptID) {}
  func discover(
    _ service: GATTID, _ characteristics: [GATTID], of attempt: AttemptID
  ) async throws(LinkFailure) {}
  func notify(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure) {}
  func read(
    _ characteristic: GATTID, of attempt: AttemptID
  ) async throws(LinkFailure) -> [UInt8] { [] }
  func write(
    _ bytes: [UInt8], to characteristic: GATTID, of attempt: AttemptID
  ) async throws(LinkFailure) {}
  func longestValue(of attempt: AttemptID) async -> Int { 20 }
  func close() async {}
}
