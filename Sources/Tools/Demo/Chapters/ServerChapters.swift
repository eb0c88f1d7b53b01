import HoldfastTestKit
import LinkCore
import LinkRuntime

/// The token expires while the phone is connected.
struct TokenExpiry: Chapter {
  let title = "The token expires"
  let troubles = [Trouble.expiry]

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    let left = BootClock().wall.duration(to: stage.tokenEnd)
    guard left > .zero else {
      stage.note(.expiry, noticed: nil, whole: nil)
      return stage.say(.story, "The token ran out in an earlier chapter, which took too long.")
    }
    let before = await stage.caughtUp()
    let start = Scene.Moment.now.advanced(by: left)
    stage.say(.phone, "stays connected; its token has \(left.seconds(1)) s left")
    let noticed = try await stage.notice(since: start, early: .milliseconds(500))
    let whole = try await stage.heal(since: start, \.isConnected)
    if whole != nil {
      stage.say(.phone, "has got a new token by itself; nobody had to sign in")
    }
    await stage.tellWhole(.expiry, noticed: noticed, whole: whole, before: before)
    try await stage.pause(.seconds(1.5))
  }
}

/// The server refuses connections, then offers no stream, so that the phone polls.
struct ServerRefusal: Chapter {
  let title = "Refused, polling, and back up"
  let troubles = [Trouble.refusal, .noStream]

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    let before = await stage.caughtUp()
    let start = Scene.Moment.now
    try await stage.set(.reset)
    try await stage.set(.refuse)
    stage.say(.network, "refuses every connect")
    // Meanwhile the server restarts as one that offers no stream.
    await stage.server.crash()
    try await stage.server.start(offersStream: false)
    let noticed = try await stage.notice(since: start)
    let polls = await stage.scene.wait(atMost: Stage.patience) {
      $0.ending != nil || $0.status.isPolling
    }
    if polls != nil {
      stage.say(.phone, "asks over REST instead, every 1.5 s, for as long as it takes")
    }
    try await stage.pause(.seconds(2))
    try await stage.set(.pass)
    let end = Scene.Moment.now
    stage.say(.network, "lets connects through; the server answers, but offers no stream yet")
    let whole = try await stage.heal(since: end) { _ in true }
    await stage.tellWhole(
      .refusal, noticed: noticed, whole: whole, before: before, how: "whole by polling")
    try await stage.pause(.seconds(2.5))
    try await offerStream(on: stage)
  }

  private func offerStream(on stage: isolated Stage) async throws(DemoFailure) {
    let before = await stage.caughtUp()
    await stage.server.crash()
    try await stage.server.start()
    let end = Scene.Moment.now
    stage.say(.server, "offers its stream again; the phone's next probe will find it")
    let whole = try await stage.heal(since: end, \.isConnected)
    await stage.tellWhole(.noStream, noticed: nil, whole: whole, before: before)
    try await stage.pause(.seconds(1.5))
  }
}

extension Trouble {
  static let restart = Trouble("restart", "server restart") {
    .init(
      noticed: DemoPolicy.work,
      whole: $0.retry.serverSpread + $0.longestRetry + DemoPolicy.work)
  }

  static let expiry = Trouble("expiry", "token expiry") {
    .init(noticed: DemoPolicy.work, whole: $0.establish.timeout + DemoPolicy.work)
  }

  static let refusal = Trouble("refusal", "server refuses") {
    .init(noticed: DemoPolicy.work, whole: $0.longestPoll(\.interval) + DemoPolicy.work)
  }

  static let noStream = Trouble("noStream", "only polling") {
    .init(
      noticed: nil,
      whole: $0.longestPoll(\.slowProbe) + $0.establish.timeout + DemoPolicy.work)
  }
}
