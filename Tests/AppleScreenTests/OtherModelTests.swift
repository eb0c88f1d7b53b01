import Holdfast
import HoldfastCore
import HoldfastPorts
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of screens that are given another model while they are shown, such as the one after a
/// sign-out.
@Suite(.timeLimit(.minutes(60))) @MainActor struct OtherModelTests {
  /// Checks that a view follows the model that it was given last, and no other one.
  private func checkFollowing<Model: SharedModel>(
    _ make: () -> Model, _ view: (Model) -> some View
  ) async {
    let (first, second) = (make(), make())
    let shown = screen(view(first))
    shown.render()
    #expect(shown.tasks.count == 1 && !shown.tasks[0].isCancelled)
    shown.root = view(second)
    shown.render()
    #expect(shown.tasks.map(\.isCancelled) == [true, false])
    await shown.tasks[0].value
    await second.close()
    await shown.tasks[1].value
    check(shown)
  }

  @Test func `each view stops to follow its model when it is given another one`() async {
    await checkFollowing({ ShopMessages.preview() }) { MessageListView($0) }
    await checkFollowing({ Conversation.preview() }) { ConversationView($0) }
    await checkFollowing({ HealthPairing.preview() }) { PairingCard($0) }
    await checkFollowing({ SyncProgress.preview() }) { SyncCard($0) }
    await checkFollowing({ BottleDrinks.preview() }) { BottleCard($0) }
  }

  @Test func `a view that goes away stops to follow its model`() {
    let shown = screen(Optional(BottleCard(.preview())))
    shown.root = BottleCard?.none
    shown.render()
    #expect(shown.lines == [] && shown.tasks.map(\.isCancelled) == [true])
  }

  @Test func `a draft stays with its shop or conversation`() {
    func checkDraft(_ first: some View, _ second: some View) {
      let shown = screen(first)
      shown.type("draft")
      #expect(shown.lines.last == "_draft_  [Send]")
      shown.root = second
      shown.render()
      #expect(shown.lines.last?.hasSuffix("(Send)") == true)
      check(shown)
    }
    checkDraft(MessageListView(.preview()), MessageListView(.preview()))
    checkDraft(ConversationView(.preview()), ConversationView(.preview()))
  }

  @Test func `a failure stays with its model`() throws {
    let secrets = MemorySecretStore()
    try secrets.write(Secret("token"), PairingStore.name(in: ""), access: .whileUnlocked)
    secrets.setLocked(true)
    let locked = HealthPairing(
      Opening(previewing: .open), PairingStore(in: "", ports: DevicePorts(secrets: secrets)),
      Dates(clock: PreviewClock()))
    let shown = screen(PairingCard(locked))
    shown.press("Connect")
    #expect(shown.lines.count == 4)
    shown.root = PairingCard(.preview())
    shown.render()
    #expect(shown.lines.count == 3)
    check(shown)
  }
}
