import Foundation
import Holdfast
import HoldfastCore
import HoldfastPorts

extension HoldfastLinks {
  /// The beginning of the name of an action that ends the access of an assistant, before its id.
  private nonisolated static let endAction = "holdfast.end."

  /// Performs an action of a notification that these links have shown: it ends the access of an
  /// assistant. The names of other actions have no effect.
  ///
  /// If the server cannot be reached, another notification says so, with the same action.
  public func take(notificationAction name: String) async {
    guard name.hasPrefix(Self.endAction), signingOut == nil else { return }
    let id = String(name.dropFirst(Self.endAction.count))
    let ending = userTasks.start { [weak self] in
      guard let self, await !end(assistant: id), !Task.isCancelled else { return }
      await show("access.notice.failed", Phrase("access.notice.failed.body"), ending: id)
    }
    await ending.value
    (models["relay"] as? HealthPairing)?.access.refresh()
  }

  /// Ends the access of an assistant. Returns false if it may still have access.
  private func end(assistant id: String) async -> Bool {
    guard let pull = pull() else { return false }
    do throws(LinkFailure) {
      _ = try await pull?.assistants(.end(id))
      return true
    } catch {
      // Without the pairing, or without the assistant, there is no access.
      if case .http(401, _, _) = error { return true }
      if case .http(404, _, _) = error { return true }
      return false
    }
  }

  /// Tells the user of an assistant that has signed in, with an action that ends its access.
  func announce(_ row: AssistantRow) {
    let name = row.name ?? Phrase("access.unnamed").text
    userTasks.start { [weak self] in
      await self?.show("access.notice", Phrase("access.notice.body", name), ending: row.id)
    }
  }

  private func show(_ title: String, _ body: Phrase, ending id: String) async {
    let action = HostNotification.Action(
      name: Self.endAction + id, title: Phrase("access.end").text)
    _ = await parts.notifier?.show(
      HostNotification(title: Phrase(title).text, body: body.text, action: action))
  }
}
