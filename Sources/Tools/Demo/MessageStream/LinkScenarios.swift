import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastTestKit

/// A scenario in which the phone connects and messages arrive.
struct SteadyTraffic: DemoScenario {
  let name = "steady"
  let title = "Steady traffic"
  let link: DemoLink? = DemoLink(.messages, "Shop messages", StreamFeature.self)

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    try await environment.startCustomers()
    environment.say(
      .server, "runs; two customers write about 20 messages a second, whatever happens")
    try environment.giveFirstToken()
    try await environment.phone.launch()
    try await environment.wait { $0[.messages].ending != nil || $0[.messages].status.isConnected }
    let facts = await environment.scene.facts[.messages]
    guard facts.status.isConnected else {
      throw .setup("the phone did not connect (\(facts.ending?.description ?? "no word from it"))")
    }
    environment.say(.phone, "connected, through a proxy that plays the network")
    try environment.giveToken(until: environment.tokenEnd.advanced(by: .seconds(3600)))
    try await environment.pause(.seconds(1.5))
    environment.say(
      .phone, "has shown \(await environment.scene.facts.runs.joined().count) messages")
  }
}

/// A scenario with one fault from which the phone recovers on its own.
struct PhoneTrouble: DemoScenario {
  typealias Part = @Sendable (isolated DemoEnvironment) async throws(DemoFailure) -> Void

  let title: String
  let trouble: Trouble
  /// The duration of the fault after the phone has noticed it.
  let time: Duration
  let begin: Part
  let end: Part

  var name: String { trouble.name }
  var troubles: [Trouble] { [trouble] }

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    try await environment.play(trouble, lasting: time, begin: begin) {
      environment throws(DemoFailure) in
      try await end(environment)
      return await environment.allShown()
    }
    try await environment.pause(.seconds(0.5))
  }

  static let linkCut = PhoneTrouble(
    title: "The link is cut", trouble: .cut, time: .seconds(0.6)
  ) { environment throws(DemoFailure) in
    try await environment.set(.reset)
    environment.say(.network, "resets every connection, old and new")
  } end: { environment throws(DemoFailure) in
    try await environment.set(.pass)
    environment.say(.network, "works again")
  }

  static let halfOpenLink = PhoneTrouble(
    title: "Half-open: nothing arrives, nothing closes", trouble: .halfOpen, time: .seconds(0.6)
  ) { environment throws(DemoFailure) in
    try await environment.set(.blackhole(Blackhole(reach: .both, fate: .held, connects: .hang)))
    environment.say(.network, "falls silent; every connection still looks open")
  } end: { environment throws(DemoFailure) in
    try await environment.set(.pass)
    environment.say(.network, "works again")
  }

  static let serverRestart = PhoneTrouble(
    title: "The server restarts", trouble: .restart, time: .seconds(0.6)
  ) { environment throws(DemoFailure) in
    await environment.server.crash()
    environment.say(.server, "crashes; customers try again by themselves")
  } end: { environment throws(DemoFailure) in
    try await environment.server.start()
    environment.say(.server, "is back with its data")
  }

  static let phoneKill = PhoneTrouble(
    title: "The phone is killed", trouble: .kill, time: .seconds(1)
  ) { environment throws(DemoFailure) in
    await environment.phone.kill()
    environment.say(.phone, "dies by kill -9, in the middle of it all")
  } end: { environment throws(DemoFailure) in
    try await environment.phone.launch()
    environment.say(.phone, "is launched again over what it had kept")
  }
}

/// A scenario in which the traffic ends and the messages are counted.
struct Calm: DemoScenario {
  let name = "calm"
  let title = "Calm"

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    await environment.customers.stop()
    let last = Scene.Moment.now
    let count = await environment.scene.facts.accepted.count
    environment.say(.server, "has accepted \(count) messages; the customers have stopped")
    if try await environment.heal(.messages, since: last, await environment.allShown()) != nil {
      environment.say(.phone, "has shown them all")
    }
    await environment.phone.quit()
    try environment.checkWanted()
    await environment.compareMessages()
  }
}

extension Trouble {
  static let cut = Trouble("cut", "link cut") { policy, work in
    .init(noticed: work, whole: policy.longestRetry + work)
  }

  static let halfOpen = Trouble("halfOpen", "half-open link") { policy, work in
    // An attempt that hangs when the path returns ends with a time-out, and the next attempt
    // succeeds.
    .init(
      noticed: (policy.liveness.silence ?? .zero) + work,
      whole: policy.establish.timeout + policy.longestRetry + work)
  }

  static let kill = Trouble("kill", "phone killed") { policy, work in
    .init(noticed: nil, whole: policy.establish.timeout + work)
  }
}
