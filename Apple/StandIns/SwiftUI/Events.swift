// Actions of views, and schedules.

extension View {
  nonisolated public func task(
    priority: TaskPriority = .userInitiated,
    @_inheritActorContext _ action: @escaping @Sendable () async -> Void
  ) -> some View {
    task(id: 0, priority: priority, action)
  }
  nonisolated public func task<T>(
    id value: T, priority: TaskPriority = .userInitiated,
    @_inheritActorContext _ action: @escaping @Sendable () async -> Void
  ) -> some View where T: Equatable {
    nonisolated(unsafe) let value = value
    return Changed(self) { renderer, content in
      renderer.show(content, at: 0)
      renderer.run(action, for: value, priority)
    }
  }
  nonisolated public func refreshable(
    action: @escaping @Sendable () async -> Void
  ) -> some View {
    Changed(self) { renderer, content in
      renderer.show(content, at: 0)
      renderer.screen.refreshAction = action
    }
  }
  nonisolated public func onAppear(perform action: (() -> Void)? = nil) -> some View {
    // SwiftUI calls it on the main actor, to which the view belongs.
    nonisolated(unsafe) let action = action
    return Changed(self) { renderer, content in
      renderer.show(content, at: 0)
      if let action { renderer.onAppear(action) }
    }
  }
}

public protocol TimelineSchedule {
  typealias Mode = TimelineScheduleMode
  associatedtype Entries: Sequence where Entries.Element == Date
  func entries(from startDate: Date, mode: Mode) -> Entries
}

public enum TimelineScheduleMode: Sendable {
  case normal, lowFrequency
}

public struct EveryMinuteTimelineSchedule: TimelineSchedule, Sendable {
  public init() {}
  public func entries(from startDate: Date, mode: TimelineScheduleMode) -> [Date] { [startDate] }
}

extension TimelineSchedule where Self == EveryMinuteTimelineSchedule {
  public static var everyMinute: EveryMinuteTimelineSchedule { EveryMinuteTimelineSchedule() }
}

public struct TimelineView<Schedule, Content> where Schedule: TimelineSchedule {
  public struct Context {
    public enum Cadence: Comparable, Sendable {
      case live, seconds, minutes
    }
    public let date: Date
    public let cadence: Cadence
  }
  let schedule: Schedule
  let content: (TimelineViewDefaultContext) -> Content
}

public typealias TimelineViewDefaultContext = TimelineView<
  EveryMinuteTimelineSchedule, Never
>.Context

extension TimelineView: View, Primitive where Content: View {
  public typealias Body = Never
  nonisolated public init(
    _ schedule: Schedule, @ViewBuilder content: @escaping (TimelineViewDefaultContext) -> Content
  ) {
    (self.schedule, self.content) = (schedule, content)
  }
  func show(in renderer: Renderer) {
    renderer.isFresh = true
    renderer.note(ticks: schedule.entries(from: renderer.screen.now, mode: .normal))
    renderer.show(
      content(TimelineViewDefaultContext(date: renderer.screen.now, cadence: .seconds)), at: 0)
  }
}
