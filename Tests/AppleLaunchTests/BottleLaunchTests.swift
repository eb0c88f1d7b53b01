@_spi(Script) import CoreBluetooth
import HoldfastBottleData
import HoldfastBottleLink
import Testing
@_spi(Script) import UIKit

@testable import HoldfastUI

/// Tests of a bottle that the system or its user gives up.
@MainActor @Suite(.timeLimit(.minutes(60)))
struct BottleLaunchTests {
  private let phone: DevicePhone

  init() throws {
    phone = try DevicePhone()
    phone.launch(.active)
  }

  /// Opens the bottle, with a screen that follows it.
  private func open() async throws -> BottleDrinks {
    let bottle = try phone.links.bottle()
    Task { await bottle.follow() }
    await change(of: bottle) { $0.status.adapter == .on }
    return bottle
  }

  /// Moves the bottle, and returns when it is connected.
  private func connect() async throws {
    let bottle = try await open()
    await phone.bottle.move()
    await change(of: bottle) { $0.status.phase == .connected }
  }

  @Test func `a sign-out gives the bottle up, and the next user connects it`() async throws {
    try await connect()
    try await phone.links.signOut()
    #expect(await phone.bottle.system.on { $0.devices.map(\.link) } == [.none])
    try await connect()
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test(arguments: [CBManagerState.poweredOff, .unauthorized, .resetting, .unsupported])
  func `Bluetooth that ends while the bottle connects connects it when it is back`(
    state: CBManagerState
  ) async throws {
    let bottle = try await open()
    await phone.bottle.system.on { $0.delivery = .held }
    await phone.bottle.move()
    await phone.bottle.system.on { system in
      system.turn(state)
      system.makeHeld(Array(system.held.indices))
    }
    await change(of: bottle) { $0.status.adapter != .on }
    await phone.bottle.system.on { $0.turn(.poweredOn) }
    await phone.bottle.move()
    await change(of: bottle) { $0.status.phase == .connected }
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a bottle that the system has forgotten is found again`() async throws {
    try await connect()
    await phone.bottle.keep(.none)
    try await phone.end()
    await phone.bottle.system.on { $0.devices.first?.isKnown = false }
    phone.launch(.active)
    try await connect()
    try await phone.end()
    await phone.expectNoMisuse()
  }
}
