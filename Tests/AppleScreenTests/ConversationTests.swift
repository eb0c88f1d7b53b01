import Foundation
import Holdfast
import HoldfastCore
import HoldfastSession
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the screen of a conversation.
@Suite @MainActor struct ConversationTests {
  @Test func `turns are shown with what became of them`() {
    #expect(
      screen(ConversationView(model: ScriptedConversation.sample)).text == [
        "You  12:01 AM", "Which tests fail?",
        "Assistant  12:02 AM", "None of them.",
        "You  12:03 AM", "And on the server?", "Not answered", "[Send again]  [Discard]",
        "You  12:04 AM", "Is it up?", "It is not known whether this arrived",
        "[Send again]  [Discard]",
        "You  12:05 AM", "How long did they take?", "… The answer is being written…",
        "[Stop the answer]", "_Ask a question_  (Send)",
      ])
    #expect(
      screen(ConversationView(model: ScriptedConversation.sample), "de").text.suffix(5) == [
        "Du  0:05", "How long did they take?", "… Die Antwort wird verfasst …",
        "[Antwort abbrechen]", "_Frage stellen_  (Senden)",
      ])
  }

  @Test func `an answer that grows evaluates one row of 1,000`() {
    let chat = ScriptedConversation((1...1_000).map { .answer($0, "answer \($0)") })
    let shown = screen(ConversationView(model: chat))
    shown.resetEvaluations()
    for word in ["Ten", "Ten seconds", "Ten seconds in all."] {
      chat.turns[999].text = word
      shown.render()
      #expect(shown.lines.contains(word))
    }
    #expect(shown.evaluations["TurnRowView"] == 3)
    #expect(shown.evaluations["ConversationView"] == nil)
  }

  @Test func `a question is asked with the field`() async {
    let chat = ScriptedConversation()
    let shown = screen(ConversationView(model: chat))
    #expect(shown.lines.first == "No questions yet")
    shown.type("Which tests fail?")
    shown.press("Send")
    await shown.wait { !chat.turns.isEmpty }
    #expect(shown.lines[1...2] == ["Which tests fail?", "Waiting to be sent"])
    check(shown)
  }

  @Test func `a failed question is sent again or discarded`() {
    let chat = ScriptedConversation([.prompt(1, "Hello?", .failed)])
    let shown = screen(ConversationView(model: chat))
    shown.press("Send again")
    #expect(shown.lines[2] == "Sent")
    chat.turns = [.prompt(1, "Hello?", .interrupted)]
    shown.render()
    #expect(shown.lines[2] == "The answer was interrupted")
    shown.press("Discard")
    #expect(chat.turns == [])
  }

  @Test func `an answer in progress can be stopped`() {
    let chat = ScriptedConversation([.prompt(1, "Hello?", .accepted)])
    let shown = screen(ConversationView(model: chat))
    shown.press("Stop the answer")
    #expect(chat.turns.first?.state == .interrupted)
    #expect(!shown.buttons.contains { $0.name == "Stop the answer" })
    check(shown)
  }

  @Test func `the header tells the connection, its quality, gaps and notices`() {
    let chat = ScriptedConversation()
    chat.connection = ConnectionState(phase: .reconnecting, retryAt: now + 1, reason: .interrupted)
    (chat.quality, chat.gap, chat.notice) = (.poor, .hole, .unanswered(count: 1))
    #expect(
      screen(ConversationView(model: chat)).lines.prefix(4) == [
        "Reconnecting…  The connection was interrupted.  Next attempt in 1 second  [Try again]",
        "The connection is poor.", "Some messages are missing on the server.",
        "1 question is still without an answer.",
      ])
    #expect(
      screen(ConversationView(model: chat), "de").lines[1...3] == [
        "Die Verbindung ist schlecht.", "Auf dem Server fehlen einige Nachrichten.",
        "1 Frage ist noch ohne Antwort.",
      ])
    let shown = screen(ConversationView(model: chat))
    shown.press("Try again")
    #expect(chat.connection.phase == .connecting)
  }

  @Test func `a model for previews shows what it was given, and what is asked`() async {
    let chat = Conversation.preview(
      [TurnRow(id: "1", role: .assistant, text: "Good morning.")],
      connection: ConnectionState(phase: .reconnecting, retryAt: now + 9, reason: .offline),
      quality: .poor, gap: .pruned)
    let shown = screen(ConversationView(chat))
    #expect(
      shown.lines.prefix(5) == [
        "Reconnecting…  There is no internet connection.  Next attempt in 9 seconds",
        "The connection is poor.", "The server has removed older messages.", "Assistant",
        "Good morning.",
      ])
    shown.type("Which tests fail?")
    shown.press("Send")
    await shown.wait { chat.turns.count == 2 }
    #expect(chat.turns.last?.state == .queued)
  }

  @Test func `a session that is open elsewhere offers to try again`() {
    let chat = ScriptedConversation()
    chat.phase = .failed(.configuration("the conversation is open; close it first"))
    let shown = screen(ConversationView(model: chat))
    #expect(shown.lines.prefix(2) == ["This cannot be opened at present.", "[Try again]"])
    shown.press("Try again")
    #expect(shown.lines.first == "… Opening…")
  }

  @Test(arguments: ["en", "de"])
  func `each state of a prompt, gap and notice has words`(language: String) {
    for state in SessionPromptState.State.allCases {
      _ = screen(ConversationView(model: ScriptedConversation([.prompt(1, "a", state)])), language)
    }
    for gap in SessionGap.allCases {
      let chat = ScriptedConversation()
      chat.gap = gap
      _ = screen(ConversationView(model: chat), language)
    }
    for notice in [
      .stale(UUID128(high: 0, low: 1)), .clockSkew(.seconds(40)), .unanswered(count: 2),
      .store(.full(detail: "")),
    ] as [SessionNotice] {
      let chat = ScriptedConversation()
      (chat.notice, chat.quality) = (notice, .degraded)
      _ = screen(ConversationView(model: chat), language)
    }
    #expect(Phrase(SessionNotice.storeRecovered) == nil)
  }
}
