/** Shown wherever a person meets the service (docs/api.md#usage-notice). */
export const usageNotice =
  "This is a government information system, for authorized use only. Use is monitored and audited, and constitutes consent to monitoring."
