@_spi(Script) import BackgroundSession
@_spi(Script) import BackgroundTasks
import Holdfast
import HoldfastAppleApp
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing
@_spi(Script) import UIKit

@testable import HoldfastUI

/// Tests of launches in which the system's calls come in any order.
@MainActor @Suite(.timeLimit(.minutes(60)))
struct LaunchOrderTests {
  private enum Step: CaseIterable {
    case push, events, finish, task, expireTask, expireTime, lock, unlock, background, foreground,
      walk, answer, yield
  }

  @Test(arguments: 0..<10)
  func `every handler is called once and in time, for a hundred orders of the system's calls`(
    block: UInt64
  ) async throws {
    for seed in (block * 10)..<(block * 10 + 10) {
      var random = RandomSource(seed: seed)
      let phone = try DevicePhone()
      try await sync(phone, isPaired: Bool.random(using: &random))
      phone.launch(Bool.random(using: &random) ? .background : .active)
      var tasks: [BGTask] = []
      for _ in 0..<20 {
        let step = Step.allCases.randomElement(using: &random) ?? .yield
        try await perform(step, on: phone, &tasks)
      }
      // The end of all time: what still runs is taken back.
      phone.lock(false)
      phone.application.expireTasks()
      for task in tasks { phone.scheduler.expire(task) }
      #expect(phone.application.openTasks == [], "seed \(seed)")
      for task in tasks { #expect(task.completions.withLock(\.count) == 1, "seed \(seed)") }
      try await phone.end()
      await phone.expectNoMisuse()
    }
  }

  /// Syncs once, so that later launches continue, and leaves an upload to the system.
  private func sync(_ phone: DevicePhone, isPaired: Bool) async throws {
    if isPaired {
      try phone.pairing.write(Secret("resume-token"))
    }
    phone.daemon.answer { _ in nil }
    try phone.walk()
    phone.launch(.active)
    try await phone.links.healthSync().refresh()
    try await phone.end()
  }

  private func perform(_ step: Step, on phone: DevicePhone, _ tasks: inout [BGTask]) async throws {
    let (application, scheduler) = (phone.application, phone.scheduler)
    switch step {
    case .push: _ = application.deliverPush()
    case .events: _ = application.deliverEvents(ofSession: DevicePhone.uploads)
    case .finish: phone.daemon.finishEvents(of: DevicePhone.uploads)
    case .task: tasks.append(scheduler.launch(HoldfastLinks.refreshTask))
    case .expireTask: if let task = tasks.last { scheduler.expire(task) }
    case .expireTime: application.expireTasks()
    case .lock: phone.lock(true)
    case .unlock: phone.lock(false)
    case .background: application.enterBackground()
    case .foreground: application.enterForeground()
    case .walk: try phone.walk(5)
    case .answer:
      for transfer in phone.running { phone.daemon.end(transfer, .answer(200)) }
    case .yield: for _ in 0..<20 { await Task.yield() }
    }
  }
}
