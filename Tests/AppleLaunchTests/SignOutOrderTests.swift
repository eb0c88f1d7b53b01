@_spi(Script) import BackgroundSession
@_spi(Script) import BackgroundTasks
import Foundation
import FoundationNetworking
@_spi(Script) import HealthKit
import HoldfastCore
import HoldfastMessageData
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing
@_spi(Script) import UIKit

@testable import HoldfastUI

/// Tests of launches with sign-outs in any place.
@MainActor @Suite(.timeLimit(.minutes(60)))
struct SignOutOrderTests {
  private enum Step: CaseIterable {
    case push, events, foreign, finish, task, expireTask, expireTime, background, foreground, walk,
      answer, refuse, yield, signOut, signOutTwice, open, kill, token
  }

  /// The tasks that a run has begun, and that must end with it.
  private struct Begun {
    var tasks: [BGTask] = []
    var leaving: [Task<Void, any Error>] = []
  }

  @Test(arguments: 0..<10)
  func `every handler is called once, wherever the user signs out, for a hundred orders`(
    block: UInt64
  ) async throws {
    for seed in (block * 10)..<(block * 10 + 10) {
      var random = RandomSource(seed: seed)
      let phone = try DevicePhone()
      phone.daemon.answer { _ in nil }
      phone.launch(Bool.random(using: &random) ? .background : .active)
      var begun = Begun()
      for _ in 0..<30 {
        let step = Step.allCases.randomElement(using: &random) ?? .yield
        try await perform(step, on: phone, &begun)
      }
      try await end(begun, on: phone)
      #expect(phone.application.openTasks == [], "seed \(seed)")
      try await phone.end()
      await phone.expectNoMisuse()
    }
  }

  private func perform(_ step: Step, on phone: DevicePhone, _ begun: inout Begun) async throws {
    let (application, scheduler, links) = (phone.application, phone.scheduler, try phone.links)
    switch step {
    case .push: _ = application.deliverPush()
    case .events: _ = application.deliverEvents(ofSession: DevicePhone.uploads)
    case .foreign: _ = application.deliverEvents(ofSession: "other")
    case .finish: phone.daemon.finishEvents(of: DevicePhone.uploads)
    case .task: begun.tasks.append(scheduler.launch(HoldfastLinks.refreshTask))
    case .expireTask: if let task = begun.tasks.last { scheduler.expire(task) }
    case .expireTime: application.expireTasks()
    case .background: application.enterBackground()
    case .foreground: application.enterForeground()
    case .walk: try phone.walk(5)
    case .answer: for transfer in phone.running { phone.daemon.end(transfer, .answer(200)) }
    case .refuse: for transfer in phone.running { phone.daemon.end(transfer, .answer(403)) }
    case .yield: for _ in 0..<50 { await Task.yield() }
    case .signOut: begun.leaving.append(Task { try await links.signOut() })
    case .signOutTwice:
      for _ in 0..<2 { begun.leaving.append(Task { try await links.signOut() }) }
    case .open:
      _ = links.healthSync()
      _ = links.bottle()
      links.shop(try #require(ShopID("bakery"))).enqueue(MessageContent("two rye"))
    case .token: application.deliverToken(.success(Data([1])))
    case .kill:
      try await end(begun, on: phone)
      begun = Begun()
      await phone.bottle.keep(.none)
      try await phone.end()
      phone.launch()
    }
  }

  private func end(_ begun: Begun, on phone: DevicePhone) async throws {
    for task in begun.leaving { try await task.value }
    phone.application.expireTasks()
    for task in begun.tasks { phone.scheduler.expire(task) }
  }

  @Test func `the uploads of the next user have the next user's token`() async throws {
    let phone = try DevicePhone()
    phone.launch(.active)
    try phone.walk()
    try await phone.links.healthSync().refresh()
    phone.token.withLock { $0 = "another token" }
    try await phone.links.signOut()
    try phone.walk()
    try await phone.links.healthSync().refresh()
    let tokens = phone.daemon.requests.map { $0.value(forHTTPHeaderField: "Authorization") }
    #expect(tokens.first == "Bearer token")
    #expect(tokens.count > 1 && tokens.dropFirst().allSatisfy { $0 == "Bearer another token" })
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a hundred launches and sign-outs leave no model, no links and no open file`()
    async throws
  {
    let phone = try DevicePhone()
    var files = 0
    var left: [() -> Bool] = []
    for round in 0..<100 {
      phone.launch(.active)
      let (links, sync) = (try phone.links, try phone.links.healthSync())
      let shop = links.shop(try #require(ShopID("bakery")))
      if round.isMultiple(of: 2) {
        await change(of: sync) { $0.phase == .open }
        await change(of: shop) { $0.phase == .open }
      }
      try await links.signOut()
      #expect(phone.health.deliveries == [:] && phone.health.observed == [], "round \(round)")
      left.append { [weak links, weak sync, weak shop] in
        links != nil || sync != nil || shop != nil
      }
      try await phone.end()
      if round == 20 { files = openFiles(of: phone) }
    }
    // The first tasks of a process end after its last call.
    while left.contains(where: { $0() }) { await Task.yield() }
    #expect(openFiles(of: phone) <= files)
    await phone.expectNoMisuse()
  }

  /// Returns the number of descriptors that are open on files of a phone. Other tests of this
  /// process have descriptors of their own.
  private func openFiles(of phone: DevicePhone) -> Int {
    let (files, folder) = (FileManager.default, "/proc/self/fd")
    return (try? files.contentsOfDirectory(atPath: folder))?.count {
      let target = try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
      return target?.hasPrefix(phone.scratch.path) == true
    } ?? 0
  }
}
