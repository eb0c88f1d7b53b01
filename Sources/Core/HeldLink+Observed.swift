// The one projection of the inner state that anybody sees.
extension HeldLink {
  var observed: LinkStatus {
    var status = bareStatus
    if standby.isPolling, runsStandby { status.mode = .polling }
    return status
  }

  private var bareStatus: LinkStatus {
    switch state {
    case .idle(let reason): LinkStatus(phase: .disconnected, reason: reason)
    case .held(let held): LinkStatus(phase: .held, reason: .obstacle(held.obstacle))
    case .settling(let settling):
      trying(settling.series, retryAt: settling.until, reason: .settling)
    case .waiting(let waiting):
      trying(waiting.series, retryAt: waiting.until, reason: waiting.reason)
    case .refreshing(let refreshing):
      trying(refreshing.series, reason: refreshing.failure.map { .failure($0) })
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      self.trying(trying.series)
    case .ready(let ready):
      LinkStatus(phase: .connected, mode: .live, quality: ready.liveness.quality)
    case .resting(let reason): LinkStatus(phase: .standby, reason: reason)
    case .failed(let reason): LinkStatus(phase: .failed, reason: reason)
    }
  }

  private func trying(
    _ series: Series, retryAt: Instant? = nil, reason: LinkStatus.Reason? = nil
  ) -> LinkStatus {
    guard !series.isProbe else {
      return LinkStatus(phase: .standby, reason: standby.failure.map { .failure($0) } ?? reason)
    }
    return LinkStatus(
      phase: series.isNew ? .connecting : .reconnecting,
      attempt: (series.scheduleIndex ?? 0) + 1,
      of: series.isNew ? nil : retry.limit(of: series), retryAt: retryAt, reason: reason)
  }
}
