import HoldfastRelayData

#if canImport(SwiftUI)
  import Foundation
  import SwiftUI

  /// The assistants that are signed in, and what they may read while the phone is away.
  struct AccessView: View {
    let access: AssistantAccess

    var body: some View {
      let access = access
      VStack(alignment: .leading, spacing: 12) {
        Toggle(isOn: Binding(get: { access.usesSynced }, set: { access.useSynced($0) })) {
          VStack(alignment: .leading, spacing: 2) {
            Text(Phrase("access.synced"))
            Text(Phrase("access.synced.meaning")).font(.footnote).foregroundStyle(.secondary)
          }
        }
        .disabled(access.isBusy)
        if let failure = access.failure {
          Text(Phrase(failure)).font(.footnote).foregroundStyle(.red)
        }
        if !access.assistants.isEmpty {
          Text(Phrase("access.assistants")).font(.subheadline).accessibilityAddTraits(.isHeader)
          ForEach(access.assistants) { AssistantView(row: $0, access: access) }
        }
      }
    }
  }

  /// An assistant, with what its user may change.
  private struct AssistantView: View {
    let row: AssistantRow
    let access: AssistantAccess
    @State private var isEnding = false

    var body: some View {
      let (id, isAllowed, access) = (row.id, row.assistant.readsSynced, access)
      VStack(alignment: .leading, spacing: 4) {
        if let name = row.name { Text(verbatim: name) } else { Text(Phrase("access.unnamed")) }
        if let date = row.lastQuestion {
          LabeledContent {
            HStack {
              Text(date, style: .date)
              Text(date, style: .time)
            }
          } label: {
            Text(Phrase("access.last"))
          }
          .font(.footnote)
          .foregroundStyle(.secondary)
        }
        if access.usesSynced {
          Toggle(isOn: Binding(get: { isAllowed }, set: { access.allowSynced($0, to: id) })) {
            Text(Phrase("access.synced.allow"))
          }
          .disabled(access.isBusy)
        }
        endButton
      }
    }

    private var endButton: some View {
      Button(role: .destructive, action: { isEnding = true }) { Text(Phrase("access.end")) }
        .disabled(access.isBusy)
        .confirmationDialog(
          Text(Phrase("access.end.title")), isPresented: $isEnding, titleVisibility: .visible
        ) {
          Button(role: .destructive, action: { access.end(row.id) }) {
            Text(Phrase("access.end.confirm"))
          }
          Button(role: .cancel, action: {}) { Text(Phrase("action.cancel")) }
        } message: {
          Text(Phrase("access.end.message"))
        }
    }
  }
#endif
