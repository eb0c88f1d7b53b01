import HoldfastCore
import HoldfastLinkTrace

/// A chapter of the demo on a page: a button that is pressed, and pressed again after a while.
struct LabChapter: Sendable, Hashable {
  let deed: LabDeed
  /// The time for which a deed lasts.
  let time: Duration
  /// The time in which the links recover.
  let rest: Duration

  private init(_ deed: LabDeed, _ time: Duration = .zero, rest: Duration = .seconds(5)) {
    (self.deed, self.time, self.rest) = (deed, time, rest)
  }

  /// The chapters, in the order in which they are played: about three minutes.
  static let all = [
    LabChapter(.cut), LabChapter(.halfOpen, .seconds(15)), LabChapter(.slow, .seconds(8)),
    LabChapter(.restart, rest: .seconds(10)), LabChapter(.kill, rest: .seconds(14)),
    LabChapter(.unavailable, .seconds(6), rest: .seconds(14)),
    LabChapter(.loginPage, .seconds(7), rest: .seconds(10)),
    LabChapter(.loseWiFi, .seconds(8)), LabChapter(.noWay, .seconds(6)),
    LabChapter(.background, .seconds(10)), LabChapter(.sleep, .seconds(8)),
    LabChapter(.killApp, rest: .seconds(8)), LabChapter(.expireTokens, rest: .seconds(10)),
  ]
}

/// The demo on a page.
extension LabBench {
  /// The time in which the links connect before the first chapter.
  private static let beginning = Duration.seconds(8)

  /// Plays all chapters, until the task is cancelled. A person may press the buttons too.
  func playChapters() async {
    let chapters = LabChapter.all
    guard await pause(Self.beginning) else { return }
    for (index, chapter) in chapters.enumerated() {
      await untilFree(chapter.deed.group)
      let title = "\(index + 1) of \(chapters.count): \(chapter.deed.title)"
      tell(.note(.user), "Chapter \(title). \(chapter.deed.sentence)", to: links)
      post([.chapter(title, chapter.deed.sentence)])
      await perform(.deed(chapter.deed, isOn: true))
      if chapter.deed.lasts {
        guard await pause(chapter.time) else { return }
        await untilFree(chapter.deed.group)
        await perform(.deed(chapter.deed, isOn: false))
      }
      guard await pause(chapter.rest) else { return }
    }
    post([.chapter("The end", "All chapters were played. Press the buttons yourself.")])
  }

  /// Waits. Returns false if the task was cancelled.
  private func pause(_ time: Duration) async -> Bool {
    (try? await Task.sleep(for: time)) != nil
  }
}
